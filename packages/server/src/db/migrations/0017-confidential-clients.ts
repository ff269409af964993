import type { SchemaDb } from './schema-db.ts'

/** Apps that authenticate with a client secret. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('apps', (t) => {
    t.text('client').notNullable().defaultTo('public')
  })
  await db.schema.createTable('client_secrets', (t) => {
    t.uuid('id').primary()
    t.uuid('app_id').notNullable().references('id').inTable('apps').onDelete('CASCADE').index()
    t.text('hash').notNullable().unique()
    t.bigInteger('created_at').notNullable()
    t.bigInteger('last_used_at')
  })
}
