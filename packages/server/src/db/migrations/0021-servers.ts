import type { SchemaDb } from './schema-db.ts'

/** The servers that are running, so that they notice when they differ. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.createTable('servers', (t) => {
    t.text('id').primary()
    t.text('version').notNullable()
    t.bigInteger('started_at').notNullable()
    t.bigInteger('seen_at').notNullable()
    t.bigInteger('clock_offset_ms').notNullable()
    t.text('kids').notNullable()
    t.text('encryption_keys').notNullable()
  })
}
