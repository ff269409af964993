import type { SchemaDb } from './schema-db.ts'

/** Before, a system_admin entered every app without a grant. Which apps they need depends on a setting, which the server reads. */
export async function up(db: SchemaDb): Promise<void> {
  await db.schema.alterTable('service', (t) => {
    t.integer('admin_grants_due').notNullable().defaultTo(0)
  })
  await db.raw('update service set admin_grants_due = 1')
}
