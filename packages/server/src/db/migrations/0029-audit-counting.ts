import type { SchemaDb } from './schema-db.ts'

/**
 * A refusal is counted in the event whose id stands for its key, so this index is in the way of partitions. On Postgres, servers of
 * the previous version need it; it goes when the table is divided by month (`audit-months.ts`).
 */
export async function up(db: SchemaDb): Promise<void> {
  if (db.client.driverName !== 'pg') await db.raw('drop index if exists audit_events_counted_by')
}
