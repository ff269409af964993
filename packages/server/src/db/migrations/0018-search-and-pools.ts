import type { NewIndex, SchemaDb } from './schema-db.ts'

/**
 * Where Postgres has no index of pieces (`0001-initial`), a search finds only the beginning of a name or an address. These serve it.
 */
export const indexes: NewIndex[] = (
  [
    ['users', ['email', 'first_name', 'last_name']],
    ['organizations', ['slug', 'name']],
  ] as const
).flatMap(([table, columns]) =>
  columns.map((column) => ({
    name: `${table}_${column}_prefix`,
    table,
    columns: `lower(${column} collate "C") text_pattern_ops`,
    onPostgresWithout: `${table}_search`,
  })),
)

/** How many users each pool has, and the addresses that several users have, each in a pool of its own. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.createTable('pool_sizes', (t) => {
    t.text('namespace').primary()
    t.integer('homes').notNullable()
    t.integer('tagged').notNullable()
  })
  // What is not in `pool_sizes` yet. Writers only add rows here, so they never wait for each other.
  await db.schema.createTable('pool_changes', (t) => {
    t.bigIncrements('number')
    t.text('namespace').notNullable().index()
    t.integer('homes').notNullable()
    t.integer('tagged').notNullable()
  })
  await db.schema.createTable('shared_emails', (t) => {
    t.text('email').primary()
  })
  await db.raw(`
    insert into pool_sizes (namespace, homes, tagged)
    select namespace, sum(homes), sum(tagged) from (
      select namespace, 1 as homes, 0 as tagged from users where status <> 'deleted'
      union all
      select namespace, 0, 1 from user_namespaces) as named
    group by namespace`)
  await db.raw(`
    insert into shared_emails (email)
    select email from users where status <> 'deleted' group by email having count(*) > 1`)
}
