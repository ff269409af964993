import type { NewIndex, SchemaDb } from './schema-db.ts'

export const indexes: NewIndex[] = [
  { name: 'audit_events_by_position', table: 'audit_events', columns: 'xid, id', where: 'xid <> 0' },
  { name: 'audit_events_former', table: 'audit_events', columns: 'id', where: 'xid = 0 and seal_position is null' },
]

/** Every new event would stay in it. */
export async function up(db: SchemaDb): Promise<void> {
  await db.raw('drop index if exists audit_events_unsealed')
}
