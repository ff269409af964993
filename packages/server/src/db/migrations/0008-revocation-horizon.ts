import type { SchemaDb } from './schema-db.ts'

export async function up(db: SchemaDb): Promise<void> {
  const isPostgres = db.client.driverName === 'pg'
  // The transaction that wrote a row. Rows from before have 0, and so have all rows on SQLite, where they are written in order.
  await db.schema.alterTable('revocations', (t) => t.bigInteger('xid').notNullable().defaultTo(0))
  if (isPostgres) await db.raw('alter table revocations alter column xid set default pg_current_xact_id()::text::bigint')
  // Where the cursors of a feed begin: `cursor` stands for `position`, since `at`. `lineage`: of which history of commits.
  await db.schema.createTable('feeds', (t) => {
    t.text('name').primary()
    t.bigInteger('cursor').notNullable()
    t.bigInteger('position').notNullable()
    t.bigInteger('at').notNullable()
    t.text('lineage')
  })
  const [position, now] = isPostgres
    ? ['pg_snapshot_xmin(pg_current_snapshot())::text::bigint', 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint']
    : ["coalesce((select seq from sqlite_sequence where name = 'revocations'), 0) + 1", "strftime('%s') * 1000"]
  // Above every cursor that was given before. Those were at most a time in milliseconds.
  await db.raw(
    `insert into feeds (name, cursor, position, at) select 'revocations', ${now} * 500 + 134217728, ${position}, ${now}`,
  )
}
