import { Bell } from './adapters/bell.ts'
import { GenerationCache } from './adapters/generation-cache.ts'
import { createLogger } from './adapters/logger.ts'
import { createMailer, type Mailer } from './adapters/mailer.ts'
import { Metrics } from './adapters/metrics.ts'
import { commonPasswords } from './adapters/password-blocklist.ts'
import { PasswordHasher } from './adapters/password-hasher.ts'
import type { ProviderClients } from './adapters/provider-clients.ts'
import { RevocationHub } from './adapters/revocation-hub.ts'
import type { Config } from './config.ts'
import { type Db, isPostgres, type Pool, primaryOf, type Tx } from './db/handle.ts'
import { createKnex, type DatabaseSettings } from './db/knex.ts'
import { divideAudit, pendingMigrations } from './db/migrate.ts'
import { type AccessTokenClaims, AccessTokens } from './lib/access-token.ts'
import { AuditProofs } from './lib/audit-proof.ts'
import type { ImageType } from './lib/image.ts'
import { inFlight } from './lib/in-flight.ts'
import { type Keyring, sharedKeyring } from './lib/keyrings.ts'
import type { Logger } from './lib/logger.ts'
import type { NewRevocation, RevocationNotes } from './lib/revocation-notes.ts'
import { SecretBox } from './lib/secrets.ts'
import { Revocation } from './models/revocation.ts'

/**
 * The dependencies of every use case. `Deps<Pool>` can open transactions, `Deps<Tx>` runs inside one. Code that only reads takes
 * `Deps`, which is either. Inside `transaction`, you cannot reach the outer handle.
 */
export interface Deps<D extends Db = Db> {
  config: Config
  db: D
  /** Whole Unix milliseconds. Tests move it. */
  clock: () => number
  logger: Logger
  passwords: Pick<PasswordHasher, keyof PasswordHasher>
  /** Forbidden passwords, in lower case. Empty unless AUTH_PASSWORD_BLOCKLIST is on. */
  passwordBlocklist: ReadonlySet<string>
  accessTokens: AccessTokens
  /** The keys for apps that have no own key. */
  sharedKeys: Keyring
  revocationHub: RevocationHub
  /** Rings when something is added to the outbox. */
  outboxBell: Bell
  mailer: Mailer
  /** The metrics that `/metrics` serves. */
  metrics: Metrics
  secretBox: SecretBox
  auditProofs: AuditProofs
  /** The clients for third-party login. Loaded on first use, since most servers never need the library. */
  providerClients: () => Promise<Pick<ProviderClients, keyof ProviderClients>>
  /** Apps and permissions kept in memory. Read them through `readCatalog`. */
  catalogCache: GenerationCache<unknown>
  logoCache: GenerationCache<Promise<{ type: ImageType; image: Buffer } | undefined>>
  /** Claims of tokens whose signature was verified, by token. A change of any key begins a new generation. */
  verifiedTokens: GenerationCache<AccessTokenClaims>
  lifecycle: Lifecycle
  /** Collects what tokens lose in a transaction. Does not exist outside of one. */
  revocations: D extends Tx ? RevocationNotes : undefined
  /** Writes the revocations that a transaction noted. For `transaction`, which calls it last. */
  writeRevocations: (db: Tx, noted: readonly NewRevocation[], at: number) => Promise<void>
  /** Callbacks that run after the transaction commits. They do not run if it is rolled back. */
  afterCommit?: (() => void)[]
  /** Set in a rehearsal: all writes are rolled back at the end. */
  isRehearsal?: true
}

/** State of the running program. */
interface Lifecycle {
  /** When the program started, which is also when it read its settings. */
  startedAt: number
  /** True once the server has begun to stop. */
  isStopping: boolean
  /** False while the database refuses writes, since its disk is full or it is read-only. */
  isWritable: boolean
  /**
   * Returns the migrations that the database lacks. Throws if the database is unreachable, or if its schema is too new for this
   * server or differs.
   */
  pendingMigrations(): Promise<string[]>
  /** Divides the audit of a former version by month, on connections without a time limit. */
  divideAudit(): Promise<void>
}

/** Statement timeout for background work. */
const backgroundStatementMs = 60_000

export function createDeps(config: Config, overrides: Partial<Pick<Deps, 'clock' | 'logger'>> = {}): Deps<Pool> {
  const logger = overrides.logger ?? createLogger(config.logLevel)
  const clock = overrides.clock ?? Date.now
  const metrics = new Metrics()
  let providerClients: Promise<ProviderClients> | undefined
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
    revocations: undefined,
    writeRevocations: Revocation.write,
    outboxBell: new Bell(),
    mailer: createMailer(config),
    metrics,
    secretBox: new SecretBox(config.encryptionKeys),
    auditProofs: new AuditProofs(config.encryptionKeys),
    providerClients: () => (providerClients ??= loadProviderClients(config, clock)),
    ...createCaches(),
    lifecycle: {
      startedAt: clock(),
      isStopping: false,
      isWritable: true,
      pendingMigrations: inFlight(() => pendingMigrations(db)),
      divideAudit: () => divideAudit({ config, db, clock }),
    },
  }
}

function createCaches(): Pick<Deps, 'catalogCache' | 'logoCache' | 'verifiedTokens'> {
  // Tokens are long and logos large, so few are kept.
  return {
    catalogCache: new GenerationCache(10_000),
    logoCache: new GenerationCache(20),
    verifiedTokens: new GenerationCache(500),
  }
}

function openPool(config: DatabaseSettings, logger: Logger, beside?: Pool): Pool {
  return createKnex(config, (message) => logger.warn({ err: message }, 'database driver'), beside && primaryOf(beside))
}

/**
 * On Postgres, opens a separate connection for background work. No request waits for it, and its statements may take longer than
 * those of requests. SQLite has only one connection, so there `deps` is returned as it is. Call `close` before `closeDeps`.
 */
export function withPatientConnection(deps: Deps<Pool>): { deps: Deps<Pool>; close(): Promise<void> } {
  if (!isPostgres(deps.db)) return { deps, close: async () => {} }
  const db = openPool({ ...deps.config, dbPoolMax: 1, dbStatementTimeoutMs: backgroundStatementMs }, deps.logger, deps.db)
  return { deps: { ...deps, db }, close: () => db.destroy() }
}

async function loadProviderClients(
  { production, ssoPrivateHosts: hosts }: Config,
  clock: () => number,
): Promise<ProviderClients> {
  const { ProviderClients } = await import('./adapters/provider-clients.ts')
  return new ProviderClients({ allowHttp: !production, mayBePrivate: (host) => hosts?.includes(host) ?? true, clock })
}

/** Looks like a bcrypt hash, but no password matches it. */
const hashOfNothing = `$2b$04$${'.'.repeat(53)}`

/**
 * Replaces what is expensive or cannot be undone. A rehearsal hashes nothing, sends nothing, opens no connection, and has separate
 * caches.
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
    providerClients: unrehearsed,
    ...createCaches(),
    isRehearsal: true,
  }
}

async function unrehearsed(): Promise<never> {
  throw new Error('a dry run tried to use the network')
}

export async function closeDeps(deps: Deps<Pool>): Promise<void> {
  deps.mailer.close()
  await Promise.all([deps.db.destroy(), deps.passwords.close()])
}
