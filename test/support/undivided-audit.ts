// The audit on Postgres as a former version has left it: one table, with the index by which that version counts refusals.
import type { Pool } from '../../packages/server/src/db/handle.ts'

const names = ['pkey', 'by_place', 'about', 'acts'] as const

export async function undivideAudit(db: Pool): Promise<void> {
  await db.raw('create table audit_plain (like audit_events including defaults including constraints)')
  await db.raw('insert into audit_plain select * from audit_events')
  const { rows }: { rows: { name: string; made: string }[] } = await db.raw(
    "select indexname as name, indexdef as made from pg_indexes where tablename = 'audit_events'",
  )
  await db.raw('drop table audit_events')
  await db.raw('alter table audit_plain rename to audit_events')
  for (const name of names) {
    const { made } = rows.find((row) => row.name === `audit_events_${name}`)!
    if (name === 'pkey') await db.raw('alter table audit_events add primary key (id)')
    else await db.raw(made.replace(' ON ONLY ', ' ON '))
  }
  await db.raw('create unique index audit_events_counted_by on audit_events (counted_by) where counted_by is not null')
}
