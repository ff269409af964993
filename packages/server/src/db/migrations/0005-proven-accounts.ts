import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('users', (t) => {
    // Since when an address of the account is verified by the link of a mail and by nothing else. Null for accounts that were
    // verified before this column existed, so they stay proven, and no row is written here.
    t.bigInteger('link_verified_at')
  })
  // The address that a change would give to the account, for a token that was mailed to the present one.
  await db.schema.alterTable('mail_tokens', (t) => t.text('new_email'))
  // What a token may be for is the business of the code: each new purpose would need a new table on SQLite.
  if (db.client.driverName === 'pg') await db.raw('alter table mail_tokens drop constraint mail_tokens_purpose_check')
  else await dropPurposeCheckOnSqlite(db)
}

/** SQLite cannot drop a constraint. No table refers to this one. */
async function dropPurposeCheckOnSqlite(db: SchemaDb): Promise<void> {
  await db.raw(`create table mail_tokens_unchecked (token_hash text primary key, user_id char(36) not null, purpose text not null,
    email text not null, account_email text, mailbox_proven_at bigint, app_id char(36), redirect_url text,
    created_at bigint not null, expires_at bigint not null, spent_at bigint, new_email text,
    foreign key (user_id) references users (id) on delete cascade, foreign key (app_id) references apps (id) on delete cascade)`)
  await db.raw('insert into mail_tokens_unchecked select * from mail_tokens')
  await db.raw('drop table mail_tokens')
  await db.raw('alter table mail_tokens_unchecked rename to mail_tokens')
  await db.schema.alterTable('mail_tokens', (t) => {
    t.index(['app_id'])
    t.index(['expires_at'])
    t.index(['user_id', 'purpose', 'created_at'])
  })
}
