import type { SchemaDb } from './schema-db.ts'

/** Apps that demand a second factor, and what a session needs to know to go on there. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('apps', (t) => {
    t.text('require_two_factor').notNullable().defaultTo('off')
    t.bigInteger('require_two_factor_from')
  })
  await db.schema.alterTable('sessions', (t) => {
    // Older servers leave it empty. What their sessions have shown is then read from `amr`.
    t.text('second_factor')
  })
  await db.schema.alterTable('browser_sessions', (t) => {
    // A provider may have proven the person long before they came from there.
    t.bigInteger('signed_in_at')
  })
  await db.schema.alterTable('sso_providers', (t) => {
    t.integer('trusted_for_two_factor').notNullable().defaultTo(0)
  })
}
