import { Bell } from './adapters/bell.ts'
import { GenerationCache } from './adapters/generation-cache.ts'
import { createLogger } from './adapters/logger.ts'
import { createMailer, type Mailer } from './adapters/mailer.ts'
import { Metrics } from './adapters/metrics.ts'
import type { OpenIdClients } from './adapters/open-id-clients.ts'
import { commonPasswords } from './adapters/password-blocklist.ts'
import { PasswordHasher } from './adapters/password-hasher.ts'
import { RevocationHub } from './adapters/revocation-hub.ts'
import type { Config } from './config.ts'
import { type Db, isPostgres, type Pool, primaryOf } from './db/handle.ts'
import { createKnex, type DatabaseSettings } from './db/knex.ts'
import { pendingMigrations } from './db/migrate.ts'
import { AccessTokens } from './lib/access-token.ts'
import { AuditProofs } from './lib/audit-proof.ts'
import { inFlight } from './lib/in-flight.ts'
import { type Keyring, sharedKeyring } from './lib/keyrings.ts'
import type { Logger } from './lib/lazy-logger.ts'
import { SecretBox } from './lib/secret-box.ts'

/**
 * What every use-case is handed. `Deps<Pool>` opens transactions, `Deps<Tx>` is inside of one, and what only reads takes either: `Deps`.
 * Inside `transaction` the outer handle is out of reach.
 */
export interface Deps<D extends Db = Db> {
  config: Config
  db: D
  /** Unix milliseconds, whole. Tests move it. */
  clock: () => number
  logger: Logger
  passwords: Pick<PasswordHasher, keyof PasswordHasher>
  /** Passwords that nobody may choose, in lower case; empty unless AUTH_PASSWORD_BLOCKLIST is on. */
  passwordBlocklist: ReadonlySet<string>
  accessTokens: AccessTokens
  /** The keys of the apps that have none of their own. */
  sharedKeys: Keyring
  revocationHub: RevocationHub
  /** Rung when something was added to the outbox. */
  outboxBell: Bell
  mailer: Mailer
  /** What `/metrics` tells. */
  metrics: Metrics
  secretBox: SecretBox
  auditProofs: AuditProofs
  /** Logins at the providers of third-party login. */
  /** Loaded by the first third-party login: most servers can spare the library. */
  openIdClients: () => Promise<Pick<OpenIdClients, keyof OpenIdClients>>
  /** Apps and permissions in memory; read through `readCatalog`. */
  catalogCache: GenerationCache
  lifecycle: Lifecycle
  /** Run once the transaction is committed, and never when it is taken back. */
  afterCommit?: (() => void)[]
  /** Everything that is written here is rolled back in the end. */
  isRehearsal?: true
}

/** What the running program knows of itself. */
export interface Lifecycle {
  /** When the program began, and so since when it has its settings. */
  startedAt: number
  /** Set when the server begins to stop. */
  isStopping: boolean
  /** The migrations that the database lacks; throws when it cannot be asked, or is newer than the server. */
  pendingMigrations(): Promise<string[]>
}

/** How long a statement of work in the background may take. */
const backgroundStatementMs = 60_000

export function createDeps(config: Config, overrides: Partial<Pick<Deps, 'clock' | 'logger'>> = {}): Deps<Pool> {
  const logger = overrides.logger ?? createLogger(config.logLevel)
  const clock = overrides.clock ?? Date.now
  const metrics = new Metrics()
  let openIdClients: Promise<OpenIdClients> | undefined
  const db = openPool(config, logger)
  return {
    config,
    db,
    clock,
    logger,
    passwords: new PasswordHasher({
      cost: config.bcryptCost,
      threads: config.hashThreads,
      observer: {
        ...metrics.hashObserver(),
        fellBack: (reason) => logger.warn({ reason }, 'passwords are hashed by bcryptjs, which takes three times as long'),
      },
    }),
    passwordBlocklist: config.passwordBlocklist ? commonPasswords() : new Set(),
    accessTokens: new AccessTokens(config.issuer),
    sharedKeys: sharedKeyring(config.accessSecret, config.previousAccessSecret),
    revocationHub: new RevocationHub(),
    outboxBell: new Bell(),
    mailer: createMailer(config),
    metrics,
    secretBox: new SecretBox(config.encryptionKeys),
    auditProofs: new AuditProofs(config.encryptionKeys),
    openIdClients: () => (openIdClients ??= loadOpenIdClients(config, clock)),
    catalogCache: new GenerationCache(),
    lifecycle: { startedAt: clock(), isStopping: false, pendingMigrations: inFlight(() => pendingMigrations(db)) },
  }
}

function openPool(config: DatabaseSettings, logger: Logger, beside?: Pool): Pool {
  return createKnex(config, (message) => logger.warn({ err: message }, 'database driver'), beside && primaryOf(beside))
}

/**
 * For work in the background on Postgres: a connection of its own, which no request waits for, and statements that may take longer than
 * those of requests. SQLite has one connection, so there it is the same. `close` it before the rest.
 */
export function withPatientConnection(deps: Deps<Pool>): { deps: Deps<Pool>; close(): Promise<void> } {
  if (!isPostgres(deps.db)) return { deps, close: async () => {} }
  const db = openPool({ ...deps.config, dbPoolMax: 1, dbStatementTimeoutMs: backgroundStatementMs }, deps.logger, deps.db)
  return { deps: { ...deps, db }, close: () => db.destroy() }
}

async function loadOpenIdClients({ production, ssoPrivateHosts: hosts }: Config, clock: () => number): Promise<OpenIdClients> {
  const { OpenIdClients } = await import('./adapters/open-id-clients.ts')
  return new OpenIdClients({ allowHttp: !production, mayBePrivate: (host) => hosts?.includes(host) ?? true, clock })
}

/** In the form of bcrypt, and the hash of no password. */
const hashOfNothing = `$2b$04$${'.'.repeat(53)}`

/**
 * What a rehearsal gets in place of what costs or cannot be taken back: it hashes nothing, sends nothing, opens no connection, and keeps
 * what it reads of the catalog to itself.
 */
export function rehearsing(deps: Deps<Pool>): Deps<Pool> {
  const { cost } = deps.passwords
  return {
    ...deps,
    passwords: {
      cost,
      queueLength: 0,
      hash: async () => hashOfNothing,
      verify: async () => false,
      needsUpgrade: () => false,
      warmUp: () => {},
      close: async () => {},
    },
    mailer: { send: unrehearsed, close: () => {} },
    openIdClients: unrehearsed,
    catalogCache: new GenerationCache(),
    isRehearsal: true,
  }
}

async function unrehearsed(): Promise<never> {
  throw new Error('a rehearsal reached for the network')
}

export async function closeDeps(deps: Deps<Pool>): Promise<void> {
  deps.mailer.close()
  await Promise.all([deps.db.destroy(), deps.passwords.close()])
}
