import type { SchemaDb } from './schema-db.ts'

/** What the pages and mails of an app show of it. */
export async function up(db: SchemaDb): Promise<void> {
  const isPostgres = db.client.driverName === 'pg'
  await db.schema.alterTable('apps', (t) => {
    t.text('brand').notNullable().defaultTo('{}')
    // The digest of the logo. The image is in a table of its own, because an app is read often.
    t.text('logo')
  })
  await db.schema.createTable('app_logos', (t) => {
    t.uuid('app_id').primary().references('apps.id').onDelete('CASCADE')
    t.text('digest').notNullable().index()
    t.text('type').notNullable()
    t.specificType('image', isPostgres ? 'bytea' : 'blob').notNullable()
  })
}
