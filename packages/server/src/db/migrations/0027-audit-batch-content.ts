import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  // A digest of all columns of its events in order, as they were when they were sealed. Empty if it has none.
  await db.schema.alterTable('audit_batches', (t) => t.text('content'))
  // Both grow at their ends, where no page is split later.
  if (db.client.driverName === 'pg')
    for (const name of ['by_place', 'acts']) await db.raw(`alter index audit_events_${name} set (fillfactor = 100)`)
}
