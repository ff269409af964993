import type { SchemaDb } from './schema-db.ts'

/** When something was last done that only one of the servers does, once a day. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.createTable('daily_tasks', (t) => {
    t.text('name').primary()
    t.bigInteger('done_at').notNullable()
  })
  await db.raw("insert into daily_tasks (name, done_at) values ('recount_pools', 0)")
}
