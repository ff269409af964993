import { createHash } from 'node:crypto'
import type { Knex } from 'knex'
import type { Logger } from 'pino'
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
import { createKnex, isPostgres } from './db/knex.ts'
import { type Ears, type Listener, listen } from './db/listen.ts'
import { migrate, pendingMigrations, SchemaTooNewError } from './db/migrate.ts'
import { Statement } from './db/statement.ts'
import { AccessTokens } from './lib/access-token.ts'
import { ConsumerAssertions } from './lib/consumer-assertion.ts'
import { inFlight } from './lib/in-flight.ts'
import { SecretBox } from './lib/secret-box.ts'

export { SchemaTooNewError, Statement }

/** What every use-case is handed. Inside `transaction`, `db` is the transaction and the outer one is out of reach. */
export interface Deps {
  config: Config
  db: Knex
  /** Unix milliseconds, whole. Tests move it. */
  clock: () => number
  logger: Logger
  passwords: Pick<PasswordHasher, keyof PasswordHasher>
  /** Passwords that nobody may choose, in lower case; empty unless AUTH_PASSWORD_BLOCKLIST is on. */
  passwordBlocklist: ReadonlySet<string>
  accessTokens: AccessTokens
  consumerAssertions: ConsumerAssertions
  revocationHub: RevocationHub
  /** Rung when something was added to the outbox. */
  outboxBell: Bell
  mailer: Mailer
  /** What `/metrics` tells. */
  metrics: Metrics
  secretBox: SecretBox
  /** Logins at the providers of third-party login. */
  /** Loaded by the first third-party login: most servers can spare the library. */
  openIdClients: () => Promise<Pick<OpenIdClients, keyof OpenIdClients>>
  /** Apps and permissions in memory; read through `readCatalog`. */
  catalogCache: GenerationCache
  lifecycle: Lifecycle
  /** Run once the transaction is committed, and never when it is taken back. */
  afterCommit?: (() => void)[]
}

/** What the running program knows of itself. */
export interface Lifecycle {
  /** Set when the server begins to stop. */
  isStopping: boolean
  /** The migrations that the database lacks; throws when it cannot be asked, or is newer than the server. */
  pendingMigrations(): Promise<string[]>
}

export function createDeps(config: Config, overrides: Partial<Pick<Deps, 'clock' | 'logger'>> = {}): Deps {
  const logger = overrides.logger ?? createLogger(config.logLevel)
  const clock = overrides.clock ?? Date.now
  const metrics = new Metrics()
  let openIdClients: Promise<OpenIdClients> | undefined
  const db = createKnex(config, (message) => logger.warn({ err: message }, 'database driver'))
  return {
    config,
    db,
    clock,
    logger,
    passwords: new PasswordHasher({ cost: config.bcryptCost, threads: config.hashThreads, observer: metrics.hashObserver() }),
    passwordBlocklist: config.passwordBlocklist ? commonPasswords() : new Set(),
    accessTokens: new AccessTokens({
      secret: config.accessSecret,
      previousSecret: config.previousAccessSecret,
      issuer: config.issuer,
    }),
    consumerAssertions: new ConsumerAssertions(
      [config.accessSecret, config.previousAccessSecret].filter((secret) => secret !== undefined),
    ),
    revocationHub: new RevocationHub(),
    outboxBell: new Bell(),
    mailer: createMailer(config),
    metrics,
    secretBox: new SecretBox(config.encryptionKeys),
    openIdClients: () => (openIdClients ??= loadOpenIdClients({ allowHttp: !config.production, clock })),
    catalogCache: new GenerationCache(),
    lifecycle: { isStopping: false, pendingMigrations: inFlight(() => pendingMigrations(db)) },
  }
}

async function loadOpenIdClients(options: ConstructorParameters<typeof OpenIdClients>[0]): Promise<OpenIdClients> {
  const { OpenIdClients } = await import('./adapters/open-id-clients.ts')
  return new OpenIdClients(options)
}

export async function closeDeps(deps: Deps): Promise<void> {
  deps.mailer.close()
  await Promise.all([deps.db.destroy(), deps.passwords.close()])
}

/** Brings the database up to date and says what it applied; on a connection that waits, for other servers too. Throws SchemaTooNewError. */
export async function migrateDatabase({ config, db, clock }: Deps): Promise<string[]> {
  if (!isPostgres(db)) return migrate(db, clock())
  const patient = createKnex({ ...config, dbPoolMax: 1, dbStatementTimeoutMs: undefined })
  try {
    return await migrate(patient, clock())
  } finally {
    await patient.destroy()
  }
}

/** Runs `fn` in one transaction; inside another it joins that one. Nothing over the network and no hash belongs in it. */
export async function transaction<T>(deps: Deps, fn: (deps: Deps) => Promise<T>): Promise<T> {
  if (deps.db.isTransaction) return fn(deps)
  const afterCommit: (() => void)[] = []
  const result = await deps.db.transaction((db) => fn({ ...deps, db, afterCommit }))
  for (const run of afterCommit) run()
  return result
}

type Channel = 'gatehouse_revocations'

/** Tells every server that shares the database, once this transaction is committed; `listenFor` hears it. */
export async function notifyAtCommit(deps: Deps, channel: Channel, payload: string): Promise<void> {
  if (!deps.db.isTransaction) throw new Error('a notice at commit needs a transaction')
  if (isPostgres(deps.db)) await deps.db.raw('select pg_notify(?, ?)', [channel, payload])
}

/** Hears what other servers tell, on a connection beside the pool. Undefined on SQLite, which has one server. */
export function listenFor(deps: Deps, channel: Channel, ears: Ears): Listener | undefined {
  return isPostgres(deps.db) ? listen(deps.config.databaseUrl, channel, ears) : undefined
}

type LockKind = 'email' | 'identity' | 'organization' | 'bootstrap' | 'system_admins' | 'permission_codes' | 'revocations'

/**
 * Makes everyone who names the same thing wait until this transaction ends. SQLite's one writer waits anyway.
 * Locks of one transaction are taken in the order given by the caller: where there are several, sort them.
 */
export async function lockUntilCommit(deps: Deps, kind: LockKind, name = ''): Promise<void> {
  await lockAllUntilCommit(deps, kind, [name])
}

/** The same for several names in one step, in the order given. */
export async function lockAllUntilCommit(deps: Deps, kind: LockKind, names: readonly string[]): Promise<void> {
  if (!deps.db.isTransaction) throw new Error('a lock needs a transaction')
  if (!isPostgres(deps.db) || names.length === 0) return
  const keys = names.map((name) => createHash('sha256').update(`${kind}:${name}`).digest().readBigInt64BE())
  await deps.db.raw('select count(pg_advisory_xact_lock(key)) from unnest(?::bigint[]) as key', [`{${keys.join()}}`])
}

/**
 * Inserts rows that all have the members of the first. However many there are, the statement is short and binds one value: with a
 * value for each member, to compose and to parse the statement would cost more than to insert the rows.
 */
export async function insertRows(deps: Deps, table: string, rows: readonly Record<string, unknown>[]): Promise<void> {
  const [first] = rows
  if (!first) return
  const columns = Object.keys(first)
  const list = columns.map(() => '??').join(', ')
  if (isPostgres(deps.db)) {
    const sql = `insert into ?? (${list}) select ${list} from json_populate_recordset(null::??, ?::json)`
    await deps.db.raw(sql, [table, ...columns, ...columns, table, JSON.stringify(rows)])
    return
  }
  const values = columns.map((_, index) => `value ->> ${index}`).join(', ')
  const json = JSON.stringify(rows.map((row) => columns.map((column) => row[column])))
  await deps.db.raw(`insert into ?? (${list}) select ${values} from json_each(?)`, [table, ...columns, json])
}

/**
 * The ids of the rows whose column has one of many values, and for which the condition holds. Each value is looked up in the index:
 * given all at once, Postgres reads the whole table as long as it has no statistics of it, as in the first minute of an import.
 */
export async function idsWhereIn(
  deps: Deps,
  table: string,
  column: string,
  values: readonly string[],
  condition: string,
): Promise<string[]> {
  if (!isPostgres(deps.db)) {
    const sql = `select id from ?? where ?? in (select value from json_each(?)) and ${condition}`
    const rows: { id: string }[] = await deps.db.raw(sql, [table, column, JSON.stringify(values)])
    return rows.map(({ id }) => id)
  }
  const each = `select id from ?? where ?? = wanted.value and ${condition} offset 0`
  const sql = `select found.id from unnest(?::text[]) as wanted (value) cross join lateral (${each}) as found`
  const { rows } = await deps.db.raw(sql, [[...values], table, column])
  return rows.map(({ id }: { id: string }) => id)
}

/** Adds `for key share`: a row that others refer to cannot be deleted until this transaction ends; everything else goes on. */
export function keptFromDeletion<Q extends Knex.QueryBuilder>(deps: Deps, query: Q): Q {
  return isPostgres(deps.db) ? (query.forKeyShare() as Q) : query
}

/** Adds `for update` where the database has row locks; SQLite's transaction holds its one write lock already. */
export function forUpdate<Q extends Knex.QueryBuilder>(deps: Deps, query: Q): Q {
  return isPostgres(deps.db) ? (query.forUpdate() as Q) : query
}

/** The same for the rows that nobody else has locked; the others are passed over. */
export function forUpdateOfUnlocked<Q extends Knex.QueryBuilder>(deps: Deps, query: Q): Q {
  return isPostgres(deps.db) ? (query.forUpdate().skipLocked() as Q) : query
}

/** The connections of the pool, and how many requests wait for one. */
export function connectionsOf({ db }: Deps): { used: number; free: number; wanted: number } {
  const { pool } = db.client
  // A closed database has no pool any more.
  return pool
    ? { used: pool.numUsed(), free: pool.numFree(), wanted: pool.numPendingAcquires() }
    : { used: 0, free: 0, wanted: 0 }
}

/** The last number that the database gave to a row of a table, be the row gone or not yet committed; 0 before the first. */
export async function lastNumberGiven(deps: Deps, table: string, column: string): Promise<number> {
  const [row] = await (isPostgres(deps.db)
    ? deps.db(`${table}_${column}_seq`).where({ is_called: true }).select({ last: 'last_value' })
    : deps.db('sqlite_sequence').where({ name: table }).select({ last: 'seq' }))
  return row?.last ?? 0
}
