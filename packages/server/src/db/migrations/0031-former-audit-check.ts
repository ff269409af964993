import type { SchemaDb } from './schema-db.ts'

/** The chain of rows that a former version has left is compared before it is closed. Both are part of the signed end. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('audit_chain', (t) => {
    // Up to which position it was compared. Null until a server of this version has looked.
    t.bigInteger('former_checked')
    // JSON: how many faults were found, and the first of them.
    t.text('former_faults')
  })
}
