import type { SchemaDb } from './schema-db.ts'

/** The audit is sealed in batches, and an event is not updated for that. */
export async function up(db: SchemaDb): Promise<void> {
  // The transaction that wrote the row, or a number that rises with each on SQLite. Rows from before have 0; -1 is for rows that count.
  await db.schema.alterTable('audit_events', (t) => t.bigInteger('xid').notNullable().defaultTo(0))
  if (db.client.driverName === 'pg')
    await db.raw('alter table audit_events alter column xid set default pg_current_xact_id()::text::bigint')
  await db.schema.createTable('audit_batches', (t) => {
    t.bigInteger('number').primary()
    // Of the last event.
    t.bigInteger('position').notNullable()
    t.integer('count').notNullable()
    // A snapshot: the batch has the events that it sees, and that the one before does not see.
    t.text('upto').notNullable()
    // Eight characters of the proof of each event, in order.
    t.text('tags').notNullable()
    // An HMAC of the seal before it, of the columns above and of the proofs of its events in order.
    t.text('seal').notNullable()
    t.bigInteger('sealed_at').notNullable()
  })
  // Where the batches end. `upto` is null until a server of this version has looked.
  await db.schema.alterTable('audit_chain', (t) => {
    t.bigInteger('batch').notNullable().defaultTo(0)
    t.bigInteger('batch_position').notNullable().defaultTo(0)
    t.text('batch_seal').notNullable().defaultTo('')
    t.text('upto')
    // What is added to the id of a transaction: a restored database may be in a Postgres that counts from 1.
    t.bigInteger('shift').notNullable().defaultTo(0)
    // The last position that a row from before may get in the chain of rows, and whether it gets no more.
    t.bigInteger('former_end').notNullable().defaultTo(0)
    t.integer('former_closed').notNullable().defaultTo(0)
  })
  // Null if it is a place in the chain of rows.
  await db.schema.alterTable('audit_checkpoints', (t) => {
    t.bigInteger('batch')
    t.text('upto')
  })
}
