import type { SchemaDb } from './schema-db.ts'

/** The keys that sign ID tokens, and what a session was asked for. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.createTable('signing_keys', (t) => {
    t.text('id').primary()
    t.text('stage').notNullable()
    t.text('public_jwk').notNullable()
    // Null once the key is retired.
    t.text('private_box')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('stage_since').notNullable().index()
  })
  await db.raw("create unique index signing_keys_stage on signing_keys (stage) where stage in ('current', 'next')")
  await db.schema.alterTable('sessions', (t) => {
    // What the app asked for when the session began; null for sessions that no code has opened.
    t.text('scope')
  })
}
