import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('apps', (t) => {
    t.integer('auto_grant_follows_policy').notNullable().defaultTo(0)
  })
}
