import type { SchemaDb } from './schema-db.ts'

/** From here on, a migration records the oldest version that runs on the schema after it, so that servers can go back to it. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('schema_migrations', (t) => {
    t.text('oldest_version')
  })
}
