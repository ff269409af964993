import type { NewIndex, SchemaDb } from './schema-db.ts'

export const oldestVersion = '0.1.0'

/** For lists of all mails, and of the few that wait or failed. */
export const indexes: readonly NewIndex[] = [
  { name: 'outbox_mails', table: 'outbox', columns: 'id', where: "kind = 'mail'" },
  { name: 'outbox_mails_by_status', table: 'outbox', columns: 'status, id', where: "kind = 'mail'" },
]

export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('outbox', (t) => {
    t.text('request_id')
    // When it was last sent again.
    t.bigInteger('queued_at')
    t.text('unsent')
  })
}
