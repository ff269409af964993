import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  // Whether servers of the previous version cannot miss it. Those that are there now were written in the order of their numbers.
  await db.schema.alterTable('revocations', (t) => t.integer('settled').notNullable().defaultTo(1))
  if (db.client.driverName !== 'pg') return
  await db.raw('alter table revocations alter column settled set default 0')
  await db.raw('create index revocations_unsettled on revocations (cursor) where settled = 0')
}
