import type { NewIndex, SchemaDb } from './schema-db.ts'

export const indexes: NewIndex[] = [
  { name: 'user_apps_expiring', table: 'user_apps', columns: 'expires_at', where: 'expires_at is not null' },
]

/** What apps that keep a table of users must learn about these users. */
export async function up(db: SchemaDb): Promise<void> {
  const isPostgres = db.client.driverName === 'pg'
  await db.schema.createTable('user_changes', (t) => {
    t.bigIncrements('number')
    // The transaction that wrote the row. 0 on SQLite, where rows are written in order.
    t.bigInteger('xid').notNullable().defaultTo(0)
    t.text('type').notNullable()
    t.uuid('user_id').notNullable()
    t.uuid('app_id').notNullable()
    t.bigInteger('at').notNullable().index()
    t.index(['app_id', 'xid'])
  })
  if (isPostgres) await db.raw('alter table user_changes alter column xid set default pg_current_xact_id()::text::bigint')
  // The `expires_at` whose passing is in `user_changes`.
  await db.schema.alterTable('user_apps', (t) => t.bigInteger('told_expires_at'))
  // Rows before this cursor were deleted.
  await db.schema.alterTable('feeds', (t) => t.bigInteger('forgotten').notNullable().defaultTo(0))
  const [position, now] = isPostgres
    ? ['pg_snapshot_xmin(pg_current_snapshot())::text::bigint', 'floor(extract(epoch from clock_timestamp()) * 1000)::bigint']
    : ['1', "strftime('%s') * 1000"]
  // The distance to 0 leaves room for cursors of earlier rows, as after a restore.
  await db.raw(
    `insert into feeds (name, cursor, position, at) select 'user_changes', ${now} * 500 + 134217728, ${position}, ${now}`,
  )
}
