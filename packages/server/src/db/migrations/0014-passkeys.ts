import type { SchemaDb } from './schema-db.ts'

/** What a passkey needs besides the columns that the first migration reserved. No version has written a row before. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('passkeys', (t) => {
    // The host that the passkey belongs to. Browsers offer it nowhere else.
    t.text('rp_id').notNullable().defaultTo('')
    // What authenticators call the user: 32 random bytes, the same for all passkeys of a user.
    t.text('user_handle').notNullable().defaultTo('')
    // Whether the passkey may be synchronized between devices, and whether it is now.
    t.smallint('backup_eligible').notNullable().defaultTo(0)
    t.smallint('backed_up').notNullable().defaultTo(0)
  })
}
