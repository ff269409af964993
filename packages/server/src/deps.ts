import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import pino, { type Logger } from 'pino'
import type { Config } from './config.ts'
import { createKnex, isPostgres } from './db/knex.ts'
import { pendingMigrations } from './db/migrate.ts'
import { AccessTokens } from './lib/access-token.ts'
import { PasswordHasher } from './lib/password-hasher.ts'
import { SecretBox } from './lib/secret-box.ts'

/** What every use-case is handed. Inside `transaction`, `db` is the transaction and the outer one is out of reach. */
export interface Deps {
  config: Config
  db: Knex
  /** Unix milliseconds, whole. Tests move it. */
  clock: () => number
  logger: Logger
  passwords: PasswordHasher
  accessTokens: AccessTokens
  secretBox: SecretBox
  lifecycle: Lifecycle
}

/** What the running program knows of itself. */
export interface Lifecycle {
  /** Set when the server begins to stop. */
  isStopping: boolean
  /** The migrations that the database lacks; throws when it cannot be asked, or is newer than the server. */
  pendingMigrations(): Promise<string[]>
}

/** Never in a log, at any level: not the value of a header, nor that of a member of a body. */
const redactedPaths = [
  ...['authorization', 'cookie', 'set-cookie', 'proxy-authorization'].flatMap((name) => [`headers.${name}`, `*.headers.${name}`]),
  ...[
    'password',
    'current_password',
    'new_password',
    'token',
    'access_token',
    'refresh_token',
    'two_factor_code',
    'secret',
  ].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
]

/** One JSON object per line, on stdout unless told. */
export function createLogger(level: string, destination?: { write(line: string): void }): Logger {
  const options = {
    level,
    redact: { paths: redactedPaths, censor: '[REDACTED]' },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  return destination ? pino(options, destination) : pino(options)
}

export function createDeps(config: Config, overrides: Partial<Pick<Deps, 'clock' | 'logger'>> = {}): Deps {
  const db = createKnex(config)
  return {
    config,
    db,
    clock: overrides.clock ?? Date.now,
    logger: overrides.logger ?? createLogger(config.logLevel),
    passwords: new PasswordHasher({ cost: config.bcryptCost, threads: config.hashThreads }),
    accessTokens: new AccessTokens({
      secret: config.accessSecret,
      previousSecret: config.previousAccessSecret,
      issuer: config.issuer,
    }),
    secretBox: new SecretBox(config.encryptionKeys),
    lifecycle: { isStopping: false, pendingMigrations: () => pendingMigrations(db) },
  }
}

export async function closeDeps(deps: Deps): Promise<void> {
  await Promise.all([deps.db.destroy(), deps.passwords.close()])
}

/** Runs `fn` in one transaction; inside another it joins that one. Nothing over the network and no hash belongs in it. */
export async function transaction<T>(deps: Deps, fn: (deps: Deps) => Promise<T>): Promise<T> {
  if (deps.db.isTransaction) return fn(deps)
  return deps.db.transaction((db) => fn({ ...deps, db }))
}

/**
 * Makes everyone who names the same thing wait until this transaction ends. SQLite's one writer waits anyway.
 * Locks of one transaction are taken in the order given by the caller: where there are several, sort them.
 */
export async function lockUntilCommit(
  deps: Deps,
  kind: 'email' | 'bootstrap' | 'system_admins' | 'revocations',
  name = '',
): Promise<void> {
  if (!deps.db.isTransaction) throw new Error('a lock needs a transaction')
  if (!isPostgres(deps.db)) return
  const key = createHash('sha256').update(`${kind}:${name}`).digest().readBigInt64BE()
  await deps.db.raw('select pg_advisory_xact_lock(?::bigint)', [key.toString()])
}

/** Adds `for update` where the database has row locks; SQLite's transaction holds its one write lock already. */
export function forUpdate<Q extends Knex.QueryBuilder>(deps: Deps, query: Q): Q {
  return isPostgres(deps.db) ? (query.forUpdate() as Q) : query
}
