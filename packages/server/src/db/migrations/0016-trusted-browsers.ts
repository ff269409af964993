import type { SchemaDb } from './schema-db.ts'

/** Browsers in which a person is not asked for the second factor for some days. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.createTable('trusted_browsers', (t) => {
    t.uuid('id').primary()
    t.text('hash').notNullable().unique()
    t.uuid('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE').index()
    // The proof that the trust comes from: what raises the floor above the version, or changes the factor, ends it.
    t.integer('version').notNullable()
    t.bigInteger('factor_activated_at').notNullable()
    // Apps count their days from here.
    t.bigInteger('proven_at').notNullable()
    t.bigInteger('expires_at').notNullable().index()
    t.text('ip')
    t.text('user_agent')
  })
  await db.schema.alterTable('apps', (t) => {
    t.integer('trust_device_days').notNullable().defaultTo(0)
  })
  await db.schema.alterTable('users', (t) => {
    t.bigInteger('new_sign_in_mailed_at')
  })
}
