import type { SchemaDb } from './schema-db.ts'

/** The language that a user reads, as a BCP 47 tag. Null if it is not known. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('users', (t) => {
    t.text('locale')
  })
}
