import type { SchemaDb } from './schema-db.ts'

/** What our own pages remember of a sign-in that leaves the browser: to a provider, or into a mailbox. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('sso_logins', (t) => {
    // Of the cookie of the browser that began. Null for a login or a link of the API.
    t.text('browser_hash')
    // The authorization request to go on with, sealed for this browser.
    t.text('request_field')
  })
  await db.schema.alterTable('mail_tokens', (t) => {
    t.text('browser_hash')
    t.text('request_field')
    // Of the secret that the code of six digits in the same mail is made from. Only the browser that asked has it.
    t.text('code_key_hash')
  })
  await db.raw('create unique index mail_tokens_code on mail_tokens (code_key_hash) where code_key_hash is not null')
}
