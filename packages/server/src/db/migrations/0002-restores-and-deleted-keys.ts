import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  // Cursors below this one are from before a backup was restored: a reader that comes with one starts over.
  await db.schema.alterTable('service', (t) => t.bigInteger('first_cursor').notNullable().defaultTo(0))
  // The rows of `app_keys` that the app had, as JSON: with them its consumers still open the feed for an hour.
  await db.schema.alterTable('deleted_apps', (t) => t.text('keys').notNullable().defaultTo('[]'))
}
