import type { SchemaDb } from './schema-db.ts'

/** Since when a session meets what its app demands. Older servers leave both empty; the session or the code then counts from its start. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('sessions', (t) => {
    t.bigInteger('shown_at')
  })
  await db.schema.alterTable('authorization_codes', (t) => {
    t.bigInteger('signed_in_at')
  })
}
