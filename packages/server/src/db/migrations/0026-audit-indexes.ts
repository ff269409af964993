import type { NewIndex, SchemaDb } from './schema-db.ts'

const doer =
  "(case event when 'login.success' then 'success' when 'login.failed' then 'failed' " +
  "else (case when audit_reason is null then '' else '!' end) || cast(actor_id as text) end)"

export const indexes: NewIndex[] = [
  { name: 'audit_events_by_place', table: 'audit_events', columns: 'xid, coalesce(seal_position, 0), id' },
  { name: 'audit_events_about', table: 'audit_events', columns: "user_id, coalesce(email, ''), id" },
  { name: 'audit_events_acts', table: 'audit_events', columns: `${doer}, id`, where: `${doer} is not null` },
]

const replaced = [
  ...['at_index', 'event_id_index', 'user_id_id_index', 'app_id_id_index', 'actor_id_id_index', 'ip_id_index'],
  ...['with_audit_reason', 'email_id', 'seal_position', 'by_position', 'former'],
]

/** Each index of a table with as many rows is paid for by every login. */
export async function up(db: SchemaDb): Promise<void> {
  for (const name of replaced) await db.raw(`drop index if exists audit_events_${name}`)
}
