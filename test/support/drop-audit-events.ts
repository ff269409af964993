import { type Db, isPostgres } from '../../packages/server/src/db/handle.ts'

/** Makes the database drop rows of the audit that are inserted, or updated, without an error. Returns what undoes it. */
export async function dropAuditEvents(
  db: Db,
  on: 'insert' | 'update' = 'insert',
  table: 'audit_events' | 'audit_batches' | 'audit_chain' = 'audit_events',
): Promise<() => Promise<void>> {
  if (!isPostgres(db)) {
    await db.raw(`create trigger keep_out before ${on} on ${table} begin select raise(ignore); end`)
    return async () => void (await db.raw('drop trigger keep_out'))
  }
  await db.raw('create or replace function keep_out() returns trigger language plpgsql as $$ begin return null; end $$')
  await db.raw(`create trigger keep_out before ${on} on ${table} for each row execute function keep_out()`)
  return async () => void (await db.raw(`drop trigger keep_out on ${table}`))
}
