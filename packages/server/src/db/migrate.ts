import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { isAtLeast, version } from '../lib/version.ts'
import { amongRequests } from './among-requests.ts'
import { areMonthsKept, divideByMonth } from './audit-months.ts'
import { asTx, isPostgres, isTx, primaryOf, type Tx } from './handle.ts'
import { createKnex, type DatabaseSettings } from './knex.ts'
import * as initial from './migrations/0001-initial.ts'
import * as restoresAndDeletedKeys from './migrations/0002-restores-and-deleted-keys.ts'
import * as sealedAudit from './migrations/0003-sealed-audit.ts'
import * as unsealedAuditEvents from './migrations/0004-unsealed-audit-events.ts'
import * as provenAccounts from './migrations/0005-proven-accounts.ts'
import * as adminGrantsDue from './migrations/0006-admin-grants-due.ts'
import * as autoGrantPolicy from './migrations/0007-auto-grant-policy.ts'
import * as revocationHorizon from './migrations/0008-revocation-horizon.ts'
import * as browserSignIn from './migrations/0009-browser-sign-in.ts'
import * as pageMailsAndProviders from './migrations/0010-page-mails-and-providers.ts'
import * as revocationsByTransaction from './migrations/0011-revocations-by-transaction.ts'
import * as userChanges from './migrations/0012-user-changes.ts'
import * as brands from './migrations/0013-brands.ts'
import * as passkeys from './migrations/0014-passkeys.ts'
import * as userLocale from './migrations/0015-user-locale.ts'
import * as trustedBrowsers from './migrations/0016-trusted-browsers.ts'
import * as confidentialClients from './migrations/0017-confidential-clients.ts'
import * as searchAndPools from './migrations/0018-search-and-pools.ts'
import * as openIdConnect from './migrations/0019-openid-connect.ts'
import * as requiredSecondFactor from './migrations/0020-required-second-factor.ts'
import * as servers from './migrations/0021-servers.ts'
import * as auditBatches from './migrations/0022-audit-batches.ts'
import * as auditPositions from './migrations/0023-audit-positions.ts'
import * as deviceGrant from './migrations/0024-device-grant.ts'
import * as dailyTasks from './migrations/0025-daily-tasks.ts'
import * as auditIndexes from './migrations/0026-audit-indexes.ts'
import * as auditBatchContent from './migrations/0027-audit-batch-content.ts'
import * as settledRevocations from './migrations/0028-settled-revocations.ts'
import * as auditCounting from './migrations/0029-audit-counting.ts'
import * as signInTimes from './migrations/0030-sign-in-times.ts'
import * as formerAuditCheck from './migrations/0031-former-audit-check.ts'
import * as oldestVersions from './migrations/0032-oldest-versions.ts'
import * as grantsThatEnd from './migrations/0033-grants-that-end.ts'
import * as adminRoles from './migrations/0034-admin-roles.ts'
import * as visibleMail from './migrations/0035-visible-mail.ts'
import * as givenUp from './migrations/0036-given-up.ts'
import { checksums } from './migrations/checksums.ts'
import type { Migration, NewIndex } from './migrations/schema-db.ts'
import { SchemaDiffersError, SchemaTooNewError, UpgradeRefusedError } from './schema-errors.ts'
import { seed } from './seed.ts'

/** Migrations by name, in order, and the checksum of each. */
export interface Migrations {
  steps: Readonly<Record<string, Migration>>
  checksums: Readonly<Record<string, string>>
}

/** Imported one by one: a bundle has no folder to scan. Names are recorded in the database and never change. */
export const migrations: Migrations = {
  steps: {
    '0001-initial': initial,
    '0002-restores-and-deleted-keys': restoresAndDeletedKeys,
    '0003-sealed-audit': sealedAudit,
    '0004-unsealed-audit-events': unsealedAuditEvents,
    '0005-proven-accounts': provenAccounts,
    '0006-admin-grants-due': adminGrantsDue,
    '0007-auto-grant-policy': autoGrantPolicy,
    '0008-revocation-horizon': revocationHorizon,
    '0009-browser-sign-in': browserSignIn,
    '0010-page-mails-and-providers': pageMailsAndProviders,
    '0011-revocations-by-transaction': revocationsByTransaction,
    '0012-user-changes': userChanges,
    '0013-brands': brands,
    '0014-passkeys': passkeys,
    '0015-user-locale': userLocale,
    '0016-trusted-browsers': trustedBrowsers,
    '0017-confidential-clients': confidentialClients,
    '0018-search-and-pools': searchAndPools,
    '0019-openid-connect': openIdConnect,
    '0020-required-second-factor': requiredSecondFactor,
    '0021-servers': servers,
    '0022-audit-batches': auditBatches,
    '0023-audit-positions': auditPositions,
    '0024-device-grant': deviceGrant,
    '0025-daily-tasks': dailyTasks,
    '0026-audit-indexes': auditIndexes,
    '0027-audit-batch-content': auditBatchContent,
    '0028-settled-revocations': settledRevocations,
    '0029-audit-counting': auditCounting,
    '0030-sign-in-times': signInTimes,
    '0031-former-audit-check': formerAuditCheck,
    '0032-oldest-versions': oldestVersions,
    '0033-grants-that-end': grantsThatEnd,
    '0034-admin-roles': adminRoles,
    '0035-visible-mail': visibleMail,
    '0036-given-up': givenUp,
  },
  checksums,
}

interface Applied {
  name: string
  /** Databases from before the first release have no such column. */
  checksum?: string
  applied_at: number
  /** The oldest version that runs on the schema after it. Null: only those that know the migration. */
  oldest_version?: string | null
}

const table = 'schema_migrations'
/** Any constants will do, as long as every server uses the same. */
const stepLock = 7_231_004
const turnLock = 7_231_005
const turnPollMs = 200

/** The migrations that the database has, oldest first. Empty if the database was never migrated. */
async function appliedMigrations(db: Knex): Promise<Applied[]> {
  return (await db.schema.hasTable(table)) ? db<Applied>(table).select().orderBy('name') : []
}

/**
 * The names of the migrations that the database lacks, oldest first. Throws SchemaDiffersError, and SchemaTooNewError if a newer
 * server has applied a migration that says that this version can't run on it.
 */
export async function pendingMigrations(db: Knex, { steps, checksums }: Migrations = migrations): Promise<string[]> {
  const rows = await appliedMigrations(db)
  const applied = rows.map(({ name }) => name)
  const known = rows.filter(({ name }) => name in steps)
  const pending = Object.keys(steps).filter((name) => !applied.includes(name))
  const newer = rows.filter(({ name }) => !(name in steps))
  const barring = newer.filter(({ oldest_version: oldest }) => pending.length > 0 || !oldest || !isAtLeast(version, oldest))
  if (barring.length > 0) {
    const needs = ({ name, oldest_version: oldest }: Applied) =>
      oldest && !isAtLeast(version, oldest) ? `${name}, which needs ${oldest} or later` : name
    throw new SchemaTooNewError(barring.map(needs))
  }
  const differing = known.filter(({ name, checksum }) => checksum !== checksums[name])
  if (differing.length > 0) throw new SchemaDiffersError(differing.map(({ name }) => name))
  return pending
}

/** Whether any migration ever ran on the database. */
export async function isMigrated(db: Knex): Promise<boolean> {
  return (await appliedMigrations(db)).length > 0
}

/**
 * Brings the schema and the built-in rows up to date, and returns the names of the applied migrations. Servers that start at once
 * wait for each other. Everything is one transaction, except on a Postgres in use: there, each migration is applied completely or
 * started again by the next run, so that requests never wait for more than one. That takes two connections. Throws
 * SchemaTooNewError, SchemaDiffersError or UpgradeRefusedError.
 */
export async function migrate(
  db: Knex,
  now: number = Date.now(),
  list: Migrations = migrations,
  ofAuthctl: object = {},
): Promise<string[]> {
  const pending = await pendingMigrations(db, list)
  if (pending.length > 0 && (await isMigrated(db))) await assertUpgradable(db, list)
  if (pending.length > 0 && isPostgres(db) && (await isMigrated(db))) return inTurn(db, () => applyOneByOne(db, now, list))
  return db.transaction((trx) => applyPending(asTx(trx), now, list, { ofAuthctl }))
}

/** Applies all pending migrations, or only one, whose indexes exist already. */
async function applyPending(
  db: Tx,
  now: number,
  list: Migrations,
  { only, ofAuthctl }: { only?: string; ofAuthctl?: object } = {},
): Promise<string[]> {
  if (isPostgres(db)) await db.raw('select pg_advisory_xact_lock(?)', [stepLock])
  const missing = await pendingMigrations(db, list)
  const pending = missing.filter((name) => only === undefined || name === only)
  const isNew = pending.length > 0 && !(await db.schema.hasTable(table))
  if (isNew) {
    await db.schema.createTable(table, (t) => {
      t.text('name').primary()
      t.text('checksum').notNullable()
      t.bigInteger('applied_at').notNullable()
    })
  }
  for (const name of pending) {
    const step = list.steps[name]!
    if (step.indexes && only === undefined) await makeIndexes(db, step.indexes)
    await step.up?.(db)
    // Only migrations after the one that makes the column have a value for it.
    const oldest = step.oldestVersion === undefined ? {} : { oldest_version: step.oldestVersion }
    await db<Applied>(table).insert({ name, checksum: list.checksums[name]!, applied_at: now, ...oldest })
  }
  // The built-in rows have columns of the last migration.
  if (pending.length > 0 && pending.length === missing.length) await seed(db, now, isNew ? ofAuthctl : {})
  // A server of the version before may have made such a row meanwhile.
  if (pending.length > 0 && pending.length === missing.length) await assertUpgradable(db, list)
  if (isNew && isPostgres(db) && (await db.schema.hasTable('audit_events'))) await divideByMonth(db, now)
  return pending
}

/** Throws UpgradeRefusedError if something is in the way of a migration. */
async function assertUpgradable(db: Knex, { steps }: Migrations): Promise<void> {
  for (const { rows, ...told } of Object.values(steps).flatMap(({ refusals = [] }) => refusals)) {
    const found: { what: string }[] = await db
      .select('what')
      .from(db.raw(`(${rows}) as found`))
      .orderBy('what')
    if (found.length > 0) throw new UpgradeRefusedError({ ...told, what: found.map(({ what }) => what).join(', ') })
  }
}

/** Applies each pending migration in a separate transaction, with its indexes before it. The next run recreates invalid ones. */
async function applyOneByOne(db: Knex, now: number, list: Migrations): Promise<string[]> {
  const applied: string[] = []
  for (const name of await pendingMigrations(db, list)) {
    const step = list.steps[name]!
    if (step.indexes) await makeIndexes(db, step.indexes)
    applied.push(...(await amongRequests(db, (trx) => applyPending(trx, now, list, { only: name }))))
  }
  return applied
}

/**
 * Runs `run` while no other server does. `create index concurrently` waits for every statement that began before it, so a server
 * that waited for a lock in a statement would block it forever. This one polls instead.
 */
async function inTurn<T>(db: Knex, run: () => Promise<T>): Promise<T> {
  for (;;) {
    const holder = await db.transaction()
    try {
      // Without a bound value, since the portal of a bound statement would keep its snapshot, and the index would wait for that.
      const { rows }: { rows: { isOurs: boolean }[] } = await holder.raw(
        `select pg_try_advisory_xact_lock(${turnLock}) as "isOurs"`,
      )
      if (rows[0]?.isOurs) return await run()
    } finally {
      await holder.rollback()
    }
    await sleep(turnPollMs)
  }
}

interface Migrating {
  config: DatabaseSettings & { production: boolean; publicUrl: string }
  db: Knex
  clock(): number
}

/**
 * Brings the database up to date and returns the names of the applied migrations. On Postgres its connections have no statement
 * limit, since it may wait for other servers. Throws SchemaTooNewError or SchemaDiffersError.
 */
export async function migrateDatabase({ config, db, clock }: Migrating): Promise<string[]> {
  // A password alone should not open the administration of a new service. Where it has no pages, nobody could set a second factor
  // up.
  const ofAuthctl = config.production && new URL(config.publicUrl).pathname === '/' ? { require_two_factor: 'everyone' } : {}
  if (!isPostgres(db)) return migrate(db, clock(), migrations, ofAuthctl)
  return withoutLimit({ config, db }, (patient) => migrate(patient, clock(), migrations, ofAuthctl))
}

/** Divides the audit of a Postgres in use by month, unless another server has done so meanwhile. */
export async function divideAudit({ config, db, clock }: Migrating): Promise<void> {
  await withoutLimit({ config, db }, (patient) =>
    inTurn(patient, async () => {
      if (!(await areMonthsKept(patient))) await divideByMonth(patient, clock())
    }),
  )
}

async function withoutLimit<T>({ config, db }: Omit<Migrating, 'clock'>, run: (patient: Knex) => Promise<T>): Promise<T> {
  const patient = createKnex({ ...config, dbPoolMax: 2, dbStatementTimeoutMs: undefined }, undefined, primaryOf(db))
  try {
    return await run(patient)
  } finally {
    await patient.destroy()
  }
}

/**
 * Creates the indexes that the database lacks. Outside a transaction, Postgres creates them `concurrently`, so that the table can
 * be written meanwhile. If that is interrupted, an invalid index is left behind, which is dropped and created again.
 */
async function makeIndexes(db: Knex, indexes: readonly NewIndex[]): Promise<void> {
  for (const index of indexes) {
    if (!(await isWanted(db, index))) continue
    if (!isPostgres(db) || isTx(db)) await db.raw(createIndex(index, 'if not exists'))
    else if ((await stateOf(db, index.name)) !== 'valid') {
      await db.raw(`drop index concurrently if exists ${index.name}`)
      await db.raw(createIndex(index, 'concurrently'))
    }
  }
}

async function isWanted(db: Knex, { onPostgresWithout: other }: NewIndex): Promise<boolean> {
  return other === undefined || (isPostgres(db) && (await stateOf(db, other)) === 'absent')
}

function createIndex({ name, table, columns, isUnique, where }: NewIndex, how: 'concurrently' | 'if not exists'): string {
  const condition = where === undefined ? '' : ` where ${where}`
  return `create${isUnique ? ' unique' : ''} index ${how} ${name} on ${table} (${columns})${condition}`
}

async function stateOf(db: Knex, name: string): Promise<'valid' | 'invalid' | 'absent'> {
  const { rows }: { rows: { valid: boolean }[] } = await db.raw(
    `select i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relname = ? and c.relnamespace = current_schema()::regnamespace`,
    [name],
  )
  const [found] = rows
  if (!found) return 'absent'
  return found.valid ? 'valid' : 'invalid'
}
