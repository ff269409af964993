import type { Knex } from 'knex'
import { firstIdAt, msOfId } from '../lib/uuid.ts'
import { amongRequests } from './among-requests.ts'
import { asTx, type Db, isPostgres, isTx, type Pool, type Tx } from './handle.ts'

// On Postgres the table of audit events has a partition for each month of ids, which begin with their time:
//   audit_events_first     all months before the table was divided
//   audit_events_2027_01   a month, made ahead; retention drops it as a whole
//   audit_events_rest      ids of no month that was made, so no event is refused

/** A month of events: ids from `from` up to, without, `to`. */
export interface Month {
  name: string
  from: string
  to: string
}

const dayMs = 86_400_000
/** Months are made so long ahead. */
const aheadMs = 62 * dayMs
/** How far the first month is ahead of the newest event when the table is divided: clocks differ. */
const marginMs = 14 * dayMs
/** An event of a later time was not written by the service. */
const latestMs = 366 * dayMs
/**
 * Postgres looks through the rest while it makes a month, and holds up the events that belong there. This takes a tenth of a
 * second.
 */
const mostRestBytes = 2 ** 26
/**
 * The last waits long enough for Postgres to end a vacuum in its way. A vacuum against wraparound goes on, and the next run tries
 * again.
 */
const mostTries = 5

const bound = 'audit_events_bound'
const doer =
  "(case event when 'login.success' then 'success' when 'login.failed' then 'failed' " +
  "else (case when audit_reason is null then '' else '!' end) || cast(actor_id as text) end)"
const indexes = {
  by_place: '(xid, coalesce(seal_position, 0), id) with (fillfactor = 100)',
  about: "(user_id, coalesce(email, ''), id)",
  acts: `(${doer}, id) with (fillfactor = 100) where ${doer} is not null`,
}

/** The months of the table in order, without the first partition and the rest. Empty on SQLite, and before the table is divided. */
export async function listMonths(db: Db): Promise<Month[]> {
  if (!isPostgres(db)) return []
  const found = await rowsIn<{ name: string; bounds: string }>(
    db,
    `select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass('audit_events')`,
  )
  const months = found.flatMap(({ name, bounds }) => {
    const [, from, to] = /^FOR VALUES FROM \('(.*)'\) TO \('(.*)'\)$/.exec(bounds) ?? []
    return from !== undefined && to !== undefined ? [{ name, from, to }] : []
  })
  return months.sort((a, b) => (a.from < b.from ? -1 : 1))
}

export async function areMonthsKept(db: Knex): Promise<boolean> {
  const [found] = await rowsIn<{ kind: string }>(
    db,
    "select relkind as kind from pg_class where oid = to_regclass('audit_events')",
  )
  return found?.kind === 'p'
}

/**
 * Divides the table by month. The rows that it has stay where they are and become the first partition. A large table is read once
 * for that, beside all requests; they wait for the moments in which the schema is changed.
 */
export async function divideByMonth(db: Knex, now: number): Promise<void> {
  const begin = startOfMonthAfter(Math.max(now, await newestMs(db, now)) + marginMs)
  if (isTx(db)) return divide(asTx(db), begin, now)
  // Postgres believes a constraint that it has checked, and attaches the partition without looking through it again.
  await amongRequests(
    db,
    async (db) => {
      await db.raw(`alter table audit_events drop constraint if exists ${bound}`)
      await db.raw(`alter table audit_events add constraint ${bound} check (id < '${firstIdAt(begin)}') not valid`)
    },
    mostTries,
  )
  try {
    await db.raw(`alter table audit_events validate constraint ${bound}`)
    await amongRequests(db, (db) => divide(db, begin, now), mostTries)
  } catch (error) {
    await dropBound(db)
    throw error
  }
}

/** No event may be refused for it once its month begins. */
async function dropBound(db: Knex): Promise<void> {
  const [left] = await rowsIn(
    db,
    `select 1 from pg_constraint where conname = '${bound}' and conrelid = to_regclass('audit_events')`,
  )
  if (left) await amongRequests(db, (db) => db.raw(`alter table audit_events drop constraint if exists ${bound}`))
}

async function divide(db: Tx, begin: number, now: number): Promise<void> {
  const first = 'audit_events_first'
  await db.raw('lock table audit_events in access exclusive mode')
  if (await areMonthsKept(db)) return
  await db.raw('drop index if exists audit_events_counted_by')
  await db.raw(`alter table audit_events rename to ${first}`)
  await db.raw(`alter table ${first} rename constraint audit_events_pkey to ${first}_pkey`)
  for (const name of Object.keys(indexes)) await db.raw(`alter index audit_events_${name} rename to ${first}_${name}`)
  await db.raw(`create table audit_events (like ${first} including defaults including constraints) partition by range (id)`)
  await db.raw(`alter table audit_events drop constraint if exists ${bound}, add primary key (id)`)
  for (const [name, on] of Object.entries(indexes)) await db.raw(`create index audit_events_${name} on audit_events ${on}`)
  await copyRights(db, first, 'audit_events')
  await db.raw(`alter table audit_events attach partition ${first} for values from (minvalue) to ('${firstIdAt(begin)}')`)
  await db.raw(`alter table ${first} drop constraint if exists ${bound}`)
  await db.raw('create table audit_events_rest partition of audit_events default')
  for (const month of monthsBetween(begin, Math.max(now + aheadMs, startOfMonthAfter(begin)))) await makeMonth(db, month)
}

/** Makes the partitions of the next months, except those that the rest has events of. */
export async function makeMonths(db: Pool, now: number): Promise<void> {
  const [rest] = await rowsIn<{ bytes: number }>(db, "select pg_relation_size('audit_events_rest')::float8 as bytes")
  if (!rest || rest.bytes > mostRestBytes) return
  const begin = Math.max(now, await beginOfMonths(db))
  for (const month of monthsBetween(startOfMonth(begin), now + aheadMs)) {
    if (await isMade(db, month)) continue
    const make = async (db: Tx) => {
      // Another server may be about to make it. Requests do not wait for this lock.
      await db.raw('lock table audit_events in share update exclusive mode')
      if (await isMade(db, month)) return
      const strays = `select 1 from audit_events_rest where id >= '${month.from}' and id < '${month.to}' limit 1`
      if ((await rowsIn(db, strays)).length === 0) await makeMonth(db, month)
    }
    await amongRequests(db, make, mostTries)
  }
}

async function isMade(db: Db, month: Month): Promise<boolean> {
  return (await listMonths(db)).some(({ from, to }) => month.from < to && from < month.to)
}

/** Requests that read the table wait for this moment, as for each change of its partitions. */
export async function dropMonths(db: Tx, months: readonly Month[]): Promise<void> {
  for (const { name } of months) await db.raw(`drop table ${name}`)
}

/** Attaching locks the table less than creating a partition in place would: it can be read and written. */
async function makeMonth(db: Tx, { name, from, to }: Month): Promise<void> {
  await db.raw(`create table ${name} (like audit_events including defaults including constraints)`)
  await db.raw(`alter table audit_events attach partition ${name} for values from ('${from}') to ('${to}')`)
}

/** Other roles that read the audit, or watch it, go on. */
async function copyRights(db: Tx, from: string, to: string): Promise<void> {
  const rights = await rowsIn<{ statement: string }>(
    db,
    `select format('grant %s on ${to} to %s', privilege_type, case grantee when 0 then 'public' else grantee::regrole::text end)
       as statement
     from pg_class, aclexplode(relacl) where oid = '${from}'::regclass and grantee <> relowner`,
  )
  for (const { statement } of rights) await db.raw(statement)
}

/** The time up to which events belong to the first partition, or 0 if it is gone. */
async function beginOfMonths(db: Db): Promise<number> {
  const [first] = await rowsIn<{ bounds: string }>(
    db,
    "select pg_get_expr(relpartbound, oid) as bounds from pg_class where oid = to_regclass('audit_events_first')",
  )
  const [, to] = /TO \('(.*)'\)/.exec(first?.bounds ?? '') ?? []
  return to === undefined ? 0 : msOfId(to)
}

async function newestMs(db: Knex, now: number): Promise<number> {
  const [newest] = await rowsIn<{ id: string }>(
    db,
    `select id from audit_events where id < '${firstIdAt(now + latestMs)}' order by id desc limit 1`,
  )
  return newest ? msOfId(newest.id) : 0
}

function monthsBetween(begin: number, end: number): Month[] {
  const months: Month[] = []
  for (let start = begin; start <= end; start = startOfMonthAfter(start)) {
    const name = `audit_events_${new Date(start).toISOString().slice(0, 7).replace('-', '_')}`
    months.push({ name, from: firstIdAt(start), to: firstIdAt(startOfMonthAfter(start)) })
  }
  return months
}

function startOfMonth(ms: number): number {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
}

function startOfMonthAfter(ms: number): number {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}

async function rowsIn<Row>(db: Knex, sql: string): Promise<Row[]> {
  const { rows }: { rows: Row[] } = await db.raw(sql)
  return rows
}
