import type { SchemaDb } from './schema-db.ts'

/** The people who are signed in at this service in a browser, the codes that apps exchange, and what a session remembers of both. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.createTable('browser_sessions', (t) => {
    t.uuid('id').primary()
    t.text('hash').notNullable().unique()
    t.uuid('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE')
    // The user's token_version when the first factor was shown. A floor raised above it ends the browser session.
    t.integer('version').notNullable()
    t.text('first_factor').notNullable()
    t.bigInteger('first_proven_at').notNullable()
    t.text('second_factor')
    t.bigInteger('second_proven_at')
    t.bigInteger('second_activated_at')
    // Whether the person chose to stay signed in when the browser closes.
    t.integer('is_kept').notNullable()
    t.bigInteger('started_at').notNullable()
    t.bigInteger('last_seen_at').notNullable()
    t.bigInteger('expires_at').notNullable().index()
    t.bigInteger('ended_at')
    t.text('ended_reason')
    t.text('ip')
    t.text('user_agent')
    t.index(['user_id', 'id'])
  })
  await db.raw('create index browser_sessions_ended on browser_sessions (ended_at) where ended_at is not null')
  await db.schema.createTable('authorization_codes', (t) => {
    t.text('hash').primary()
    t.uuid('app_id').notNullable().references('id').inTable('apps').onDelete('CASCADE').index()
    t.uuid('user_id').notNullable().references('id').inTable('users').onDelete('CASCADE').index()
    t.uuid('browser_session_id').notNullable().references('id').inTable('browser_sessions').onDelete('CASCADE').index()
    t.uuid('organization_id')
    t.text('redirect_uri').notNullable()
    t.text('code_challenge')
    t.text('nonce')
    t.text('scope').notNullable()
    // What was proven, and the floor that it holds until, as of the proof.
    t.integer('version').notNullable()
    t.text('first_factor').notNullable()
    t.bigInteger('first_proven_at').notNullable()
    t.text('second_factor')
    t.bigInteger('second_proven_at')
    t.bigInteger('second_activated_at')
    t.bigInteger('created_at').notNullable()
    t.bigInteger('expires_at').notNullable().index()
    t.bigInteger('spent_at')
    // Set by a second use, which ends the session that the first one opened or is about to open.
    t.bigInteger('reused_at')
    t.uuid('session_id')
  })
  // The hashes of sealed fields that may be used once, until they expire.
  await db.schema.createTable('spent_fields', (t) => {
    t.text('hash').primary()
    t.bigInteger('expires_at').notNullable().index()
  })
  await db.schema.alterTable('sessions', (t) => {
    t.uuid('browser_session_id')
    // Null for sessions from before this column existed: their first factor was shown when they began.
    t.bigInteger('first_proven_at')
    t.text('amr')
  })
  await db.raw('create index sessions_of_browser on sessions (browser_session_id) where browser_session_id is not null')
  await db.schema.alterTable('apps', (t) => {
    t.integer('single_sign_on').notNullable().defaultTo(1)
    t.integer('max_sign_in_age_seconds')
  })
  // `authctl login` receives its code on a loopback address.
  await db.raw(`update apps set allowed_redirect_urls = '["http://127.0.0.1/callback"]'
    where code = 'authctl' and built_in = 1 and allowed_redirect_urls = '[]'`)
}
