import type { Knex } from 'knex'
import { asTx, isPostgres, type Tx } from './handle.ts'
import { createKnex, type DatabaseSettings } from './knex.ts'
import * as initial from './migrations/0001-initial.ts'
import { checksums } from './migrations/checksums.ts'
import type { SchemaDb } from './migrations/schema-db.ts'
import { SchemaDiffersError } from './schema-differs.ts'
import { SchemaTooNewError } from './schema-too-new.ts'
import { seed } from './seed.ts'

interface Migration {
  up(db: SchemaDb): Promise<void>
}

/** Imported one by one: a bundle has no folder to scan. Names are recorded in the database and never change. */
const migrations: Record<string, Migration> = {
  '0001-initial': initial,
}

interface Applied {
  name: string
  /** Databases from before the first release have no such column. */
  checksum?: string
  applied_at: number
}

const table = 'schema_migrations'
/** Any constant will do, as long as every server takes the same. */
const advisoryLock = 7_231_004

/** The names of the migrations that the database lacks, oldest first. Throws SchemaTooNewError, or SchemaDiffersError. */
export async function pendingMigrations(db: Knex): Promise<string[]> {
  const rows: Applied[] = (await db.schema.hasTable(table)) ? await db<Applied>(table).select() : []
  const applied = rows.map(({ name }) => name)
  const unknown = applied.filter((name) => !(name in migrations))
  if (unknown.length > 0) throw new SchemaTooNewError(unknown)
  const differing = rows.filter(({ name, checksum }) => checksum !== checksums[name])
  if (differing.length > 0) throw new SchemaDiffersError(differing.map(({ name }) => name))
  return Object.keys(migrations).filter((name) => !applied.includes(name))
}

/**
 * Brings the schema and the built-in rows up to date and returns what it applied. All of it is one transaction, and servers that
 * start at once wait for one another, so a database is never found half migrated. Throws SchemaTooNewError.
 */
export async function migrate(db: Knex, now: number = Date.now()): Promise<string[]> {
  return db.transaction((trx) => applyPending(asTx(trx), now))
}

async function applyPending(db: Tx, now: number): Promise<string[]> {
  if (isPostgres(db)) await db.raw('select pg_advisory_xact_lock(?)', [advisoryLock])
  const pending = await pendingMigrations(db)
  if (pending.length > 0 && !(await db.schema.hasTable(table))) {
    await db.schema.createTable(table, (t) => {
      t.text('name').primary()
      t.text('checksum').notNullable()
      t.bigInteger('applied_at').notNullable()
    })
  }
  for (const [name, migration] of Object.entries(migrations)) {
    if (!pending.includes(name)) continue
    await migration.up(db)
    await db<Applied>(table).insert({ name, checksum: checksums[name]!, applied_at: now })
  }
  if (pending.length > 0) await seed(db, now)
  return pending
}

interface Migrating {
  config: DatabaseSettings
  db: Knex
  clock(): number
}

/** Brings the database up to date and says what it applied; on a connection that waits, for other servers too. Throws SchemaTooNewError. */
export async function migrateDatabase({ config, db, clock }: Migrating): Promise<string[]> {
  if (!isPostgres(db)) return migrate(db, clock())
  const patient = createKnex({ ...config, dbPoolMax: 1, dbStatementTimeoutMs: undefined })
  try {
    return await migrate(patient, clock())
  } finally {
    await patient.destroy()
  }
}
