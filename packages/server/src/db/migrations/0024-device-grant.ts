import type { SchemaDb } from './schema-db.ts'

/** Sign-ins on devices without a browser, which a person allows elsewhere. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('apps', (t) => {
    t.integer('device_grant').notNullable().defaultTo(0)
  })
  await db.raw("update apps set device_grant = 1 where code = 'authctl' and built_in = 1")
  await db.schema.createTable('device_codes', (t) => {
    t.text('hash').primary()
    t.text('user_code_hash').notNullable().unique()
    t.uuid('app_id').notNullable().references('id').inTable('apps').onDelete('CASCADE').index()
    t.text('scope').notNullable()
    t.text('state').notNullable()
    t.text('ip')
    t.text('user_agent')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('expires_at').notNullable().index()
    t.bigInteger('polled_at')
  })
}
