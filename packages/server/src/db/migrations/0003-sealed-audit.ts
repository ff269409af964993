import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  // Of a sealed row that was erased: the event that says so, and an HMAC of what is left. `mac` and `seal` stay what they were.
  await db.schema.alterTable('audit_events', (t) => {
    t.uuid('erased_by')
    t.text('erased_mac')
  })
  // Where the chain of seals ends; one row. It is locked while rows are sealed.
  await db.schema.createTable('audit_chain', (t) => {
    t.integer('id').primary()
    t.bigInteger('position').notNullable()
    t.text('seal').notNullable()
    t.bigInteger('began_at').notNullable()
    // Rows without a `mac` are taken into the chain until then: those from before, and those of servers that are not yet replaced.
    t.bigInteger('adopts_until').notNullable()
    t.text('signature').notNullable()
    // JSON: each key that a `mac` was made with, sealed under AUTH_ENCRYPTION_KEY.
    t.text('keys').notNullable()
    t.bigInteger('sealed_at').notNullable()
  })
}
