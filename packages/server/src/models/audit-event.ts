import type { QueryBuilder } from 'objection'
import { countOf, insertRows } from '../db/bulk.ts'
import { type Db, isPostgres, type Tx } from '../db/handle.ts'
import { forUpdate, forUpdateOfUnlocked } from '../db/locks.ts'
import { Statement } from '../db/statement.ts'
import { Position, type StoredEvent } from '../lib/audit-proof.ts'
import { parseSnapshot, type Snapshot } from '../lib/feed-cursors.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { firstIdAt } from '../lib/uuid.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'
import { pageOrder, withPage } from './list-query.ts'

/** A row as it is written: `details` is JSON. */
export type AuditEventRow = Pick<AuditEvent, Exclude<Column, 'details'>> & { details: string | null }
type Column = (typeof columns)[number]

const columns = [
  ...(['id', 'event', 'reason', 'audit_reason', 'actor_type', 'actor_id', 'user_id', 'app_id'] as const),
  ...(['ip', 'user_agent', 'request_id', 'details', 'email', 'at', 'salt', 'personal_digest', 'mac'] as const),
] as const
const storedColumns = [...columns, 'count', 'counted_by', 'erased_by', 'erased_mac', 'xid', 'seal_position', 'seal'] as const
const values = columns.map((column) => `:${column}`).join(', ')
/** SQLite: a position above all others, also when every sealed event was deleted. On Postgres, the default of the column. */
const nextPosition = `(select max(coalesce((select xid from audit_events where xid <> 0 order by xid desc limit 1), 0) + 1,
  coalesce((select cast(upto as integer) from audit_chain), 1)))`
/** SQLite: stores one event, as a statement or as part of one. */
export const newEvent = `insert into audit_events (${columns.join(', ')}, xid) values (${values}, ${nextPosition})`
/** Postgres: stores an event for each row of a part of a statement. */
export const newEventFor = (part: string) => `insert into audit_events (${columns.join(', ')}) select ${values} from ${part}`
/** The same for many rows. */
const positioned = { sqlite: { xid: nextPosition } }
const oneEvent = new Statement(`insert into audit_events (${columns.join(', ')}) values (${values})`, [newEvent])
const countedEvent = new Statement(
  `insert into audit_events (${columns.join(', ')}, counted_by, xid) values (${values}, :countedBy, ${Position.counting})
  on conflict (counted_by) where counted_by is not null do update set count = audit_events.count + 1,
    email = case when audit_events.email = excluded.email then audit_events.email end,
    user_id = case when audit_events.user_id = excluded.user_id then audit_events.user_id end
  where audit_events.xid = ${Position.counting}`,
)

/** How many successful and how many failed logins are read at most. Both take SQLite 15 ms, in which it does nothing else. */
const mostOfEach = 2_000
/** How many addresses and e-mails are listed. */
const mostListed = 20

// Reads the counted rows once. The number of a step is an integer division, which is the same on both databases.
const loginTally = new Statement<LoginTally>(`
  with recent as materialized (
    select event, reason, ip, user_id, email, count, at from audit_events
    where event in ('login.success', 'login.failed') and id >= :firstId and at >= cast(:since as bigint)
  ), failed as (select * from recent where event = 'login.failed')
  select 'outcome' as part, case when event = 'login.success' then 'success' else coalesce(reason, 'unknown') end as name,
    cast(null as text) as user_id, sum(count) as count, max(at) as last_at
  from recent group by 2
  union all
  select case when event = 'login.success' then 'succeeded' else 'failed' end,
    cast((at - cast(:since as bigint)) / cast(:stepMs as bigint) as text), cast(null as text), sum(count), max(at)
  from recent group by 1, 2
  union all
  select * from (
    select 'address' as part, ip as name, cast(null as text) as user_id, sum(count) as count, max(at) as last_at
    from failed where ip is not null group by ip order by 4 desc, 5 desc, 2 limit ${mostListed}
  ) as addresses
  union all
  select * from (
    select 'email' as part, email as name, cast(user_id as text) as user_id, sum(count) as count, max(at) as last_at
    from failed where user_id is not null or email is not null group by user_id, email order by 4 desc, 5 desc, 3, 2 limit ${mostListed}
  ) as emails`)

/** One count of logins. `name` is the outcome, the number of the time step, the IP address, or an e-mail that no user has. */
export interface LoginTally {
  part: 'outcome' | 'succeeded' | 'failed' | 'address' | 'email'
  name: string | null
  user_id: string | null
  count: number
  last_at: number
}

/** The conditions of the indexes for positions. SQLite uses them only where it finds them literally. */
const isPlaced = 'xid <> 0'
const isFormer = 'xid = 0'

/** The columns that leave few events come first. */
const filterColumns = ['user_id', 'actor_id', 'ip', 'app_id', 'event'] as const
const narrowColumns: ReadonlySet<string> = new Set(['user_id', 'actor_id', 'ip'])
type ColumnFilters = Partial<Record<(typeof filterColumns)[number], string | undefined>>

/** Selects the events of the users who have an address, and the refused logins with it that are about no user. */
interface About {
  email: string
  userIds: readonly string[]
}

type AuditFilters = ColumnFilters & { about?: About | undefined }
type AuditPageRequest = PageRequest & { since?: number | undefined; until?: number | undefined }

/** How far an id may be ahead of its `at`: a process whose clock is set back continues from the newest id it made. */
const clockSlackMs = 60 * 60 * 1000

/** A row of the audit log. It has no foreign keys, so it outlives what it is about. */
export class AuditEvent extends BaseModel {
  static override tableName = 'audit_events'
  static override jsonAttributes = ['details']

  declare id: string
  declare event: string
  declare reason: string | null
  /** The reason that the caller gave for the audit. */
  declare audit_reason: string | null
  declare actor_type: 'user' | 'service_account' | 'system' | 'anonymous'
  declare actor_id: string | null
  declare user_id: string | null
  declare app_id: string | null
  declare ip: string | null
  declare user_agent: string | null
  declare request_id: string | null
  declare details: Record<string, unknown> | null
  /** The e-mail of a refused login that is about no user. */
  declare email: string | null
  declare count: number
  declare counted_by: string | null
  declare at: number
  declare salt: string | null
  declare personal_digest: string | null
  declare mac: string | null
  declare erased_by: string | null
  declare erased_mac: string | null
  /** The transaction that wrote it, plus `shift` of the chain; on SQLite a number that rises. Or one of `Position`. */
  declare xid: number
  /** The position in the chain of former versions. */
  declare seal_position: number | null
  declare seal: string | null

  static async findById(db: Db, id: string): Promise<AuditEvent | undefined> {
    return AuditEvent.query(db).findById(id)
  }

  static async isAboutApp(db: Db, appId: string): Promise<boolean> {
    return (await rowsOf(AuditEvent, db).where({ app_id: appId }).first('id')) !== undefined
  }

  /** The next events that have details, sorted by id. */
  static async listDetails(db: Db, of: DetailsSelection, page: DetailsPage): Promise<DetailsRow[]> {
    return AuditEvent.#details(db, of, page)
  }

  /** The next events that `erasable` selects, sorted by id. Locks them until the transaction ends. */
  static async listErasableForUpdate(db: Tx, erasable: Erasable, { after, limit }: DetailsPage): Promise<StoredEvent[]> {
    const query = rowsOf(AuditEvent, db).orderBy('id').limit(limit)
    if (after !== undefined) query.where('id', '>', after)
    if ('emails' in erasable) query.whereIn('email', erasable.emails)
    else if ('reasonsOf' in erasable)
      query.whereNotNull('audit_reason').where((any) => {
        any.where('user_id', erasable.reasonsOf)
        for (const address of erasable.addresses) any.orWhereRaw(...holds('lower(audit_reason)', address))
      })
    else AuditEvent.#withDetails(query, erasable)
    return forUpdate(db, query).select<StoredEvent[]>(...storedColumns)
  }

  /** Updates these columns of the rows, which it finds by id. Throws if the database drops one. */
  static async rewrite(db: Tx, rows: readonly StoredEvent[], names: readonly (keyof StoredEvent)[]): Promise<void> {
    const json = JSON.stringify(rows.map((row) => Object.fromEntries(['id' as const, ...names].map((name) => [name, row[name]]))))
    const set = names.map((name) => `${name} = new_values.${name}`).join(', ')
    const from = isPostgres(db)
      ? 'json_populate_recordset(null::audit_events, ?::json) as new_values'
      : `(select value ->> 'id' as id, ${names.map((name) => `value ->> '${name}' as ${name}`).join(', ')} from json_each(?)) as new_values`
    assertStored(
      rows.length,
      countOf(await db.raw(`update audit_events set ${set} from ${from} where audit_events.id = new_values.id`, [json])),
    )
  }

  /** Counts events about a user, and events about no user whose details contain one of the addresses. */
  static async countErasable(db: Db, userId: string, addresses: readonly string[]): Promise<number> {
    const [counted] = await rowsOf(AuditEvent, db)
      .where('user_id', userId)
      .orWhere((ofNobody) => {
        ofNobody.whereNull('user_id').where((any) => {
          any.whereRaw('1 = 0')
          for (const address of addresses) any.orWhereRaw(...holds('details', JSON.stringify(address)))
        })
      })
      .count({ n: '*' })
    return Number(counted?.n)
  }

  /** Whether the user was registered through the app. */
  static async hasRegisteredThrough(db: Db, userId: string, appId: string): Promise<boolean> {
    const registration = { user_id: userId, app_id: appId, event: 'user.registered' }
    return (await rowsOf(AuditEvent, db).where(registration).first('id')) !== undefined
  }

  /** The events of these kinds by one actor, oldest first. */
  static async listByActor(db: Db, actorId: string, events: readonly string[]): Promise<AuditEvent[]> {
    return AuditEvent.query(db)
      .where({ actor_id: actorId })
      .whereIn('event', [...events])
      .orderBy('id')
  }

  /** The events of a kind after the one with this id, oldest first. */
  static async listSince(db: Db, event: string, afterId: string): Promise<AuditEvent[]> {
    return AuditEvent.query(db).where({ event }).where('id', '>', afterId).orderBy('id')
  }

  /** What is visible now, in positions. A later statement may see more. */
  static async snapshot(db: Db, shift: number): Promise<Snapshot> {
    if (!isPostgres(db)) {
      const [row]: { next: number }[] = await db.raw(`select ${nextPosition} as next`)
      return { xmin: row!.next, xmax: row!.next, running: [] }
    }
    const { rows }: { rows: { snapshot: string }[] } = await db.raw('select pg_current_snapshot()::text as snapshot')
    const { xmin, xmax, running } = parseSnapshot(rows[0]!.snapshot)
    return { xmin: xmin + shift, xmax: xmax + shift, running: running.map((each) => each + shift) }
  }

  /** Postgres: adds `shift` to the ids of the transactions that write events from now on. */
  static async shiftPositions(db: Tx, shift: number): Promise<void> {
    if (!isPostgres(db)) return
    await db.raw(
      `alter table audit_events alter column xid set default pg_current_xact_id()::text::bigint + ${Math.trunc(shift)}`,
    )
  }

  /** Rows that `seen` does not see, in the order of positions; with `below`, only those below it. Rows that count are not among them. */
  static async listUnseen(
    db: Db,
    seen: Pick<Snapshot, 'xmax' | 'running'>,
    { after, limit, below }: { after?: Place | undefined; limit: number; below?: number },
  ): Promise<StoredEvent[]> {
    const rows = (limit: number) => {
      const query = rowsOf(AuditEvent, db).whereRaw(isPlaced).orderBy(['xid', 'id']).limit(limit)
      if (after) query.whereRaw('(xid, id) > (?, ?)', [after.xid, after.id])
      return query.select<StoredEvent[]>(...storedColumns)
    }
    const former = seen.running.length === 0 ? [] : await rows(limit).whereIn('xid', [...seen.running])
    if (former.length === limit) return former
    const later = rows(limit - former.length)
    // SQLite would look up this bound instead of the place.
    if (!after || after.xid < seen.xmax) later.where('xid', '>=', seen.xmax)
    if (below !== undefined) later.where('xid', '<', below)
    return [...former, ...(await later)]
  }

  /** Deletes the rows that `from` does not see, and `upto` does. */
  static async deleteBetween(db: Tx, from: Snapshot, upto: Snapshot): Promise<number> {
    return rowsOf(AuditEvent, db)
      .where((unseen) => {
        unseen.where((later) => later.where('xid', '>=', from.xmax).where('xid', '<', upto.xmax))
        if (from.running.length > 0) unseen.orWhereIn('xid', [...from.running])
      })
      .whereRaw(isPlaced)
      .whereNotIn('xid', [...upto.running])
      .delete()
  }

  /** Rows that count and began before `countedBefore`. Skips those that are locked. */
  static async listCountedForUpdate(db: Tx, countedBefore: number, limit: number): Promise<StoredEvent[]> {
    const query = rowsOf(AuditEvent, db)
      .where('xid', Position.counting)
      .where('at', '<', countedBefore)
      .orderBy('id')
      .limit(limit)
    return forUpdateOfUnlocked(db, query).select<StoredEvent[]>(...storedColumns)
  }

  /** Gives rows that counted the position of this transaction. */
  static async position(db: Tx, ids: readonly string[]): Promise<void> {
    const xid = db.raw(isPostgres(db) ? 'default' : nextPosition) as unknown as number
    assertStored(
      ids.length,
      await rowsOf(AuditEvent, db)
        .whereIn('id', [...ids])
        .update({ xid }),
    )
  }

  /** Rows that count already have a position, by a server of the previous version: takes it away until they no longer count. */
  static async keepCounting(db: Tx, ids: readonly string[]): Promise<void> {
    assertStored(
      ids.length,
      await rowsOf(AuditEvent, db)
        .whereIn('id', [...ids])
        .update({ xid: Position.counting }),
    )
  }

  /** The next rows from before batches that have no place in the chain, sorted by id. */
  static async listFormerForUpdate(db: Tx, { after, limit }: DetailsPage): Promise<StoredEvent[]> {
    return forUpdate(db, AuditEvent.#former(db, { after, limit })).select<StoredEvent[]>(...storedColumns)
  }

  static async listFormer(db: Db, page: DetailsPage): Promise<StoredEvent[]> {
    return AuditEvent.#former(db, page).select<StoredEvent[]>(...storedColumns)
  }

  /** What the table takes with its indexes. Undefined on SQLite, which does not say. */
  static async sizeInBytes(db: Db): Promise<number | undefined> {
    if (!isPostgres(db)) return undefined
    const { rows }: { rows: { bytes: number }[] } = await db.raw("select pg_total_relation_size('audit_events')::float8 as bytes")
    return rows[0]?.bytes
  }

  static async countFormer(db: Db): Promise<number> {
    const [counted] = await rowsOf(AuditEvent, db).whereRaw(isFormer).whereNull('seal_position').count({ n: '*' })
    return Number(counted?.n)
  }

  static #former(db: Db, { after, limit }: DetailsPage) {
    const query = rowsOf(AuditEvent, db).whereRaw(isFormer).whereNull('seal_position').orderBy('id').limit(limit)
    return after === undefined ? query : query.where('id', '>', after)
  }

  /**
   * The rows with a position in the former chain from one onwards. Rows of batches, in which somebody has written a position, are
   * among them: while Postgres has no statistics of `xid`, a condition on it would make it sort the table for each page.
   */
  static async listChained(db: Db, { from, limit }: { from: number; limit: number }): Promise<StoredEvent[]> {
    const query = rowsOf(AuditEvent, db).where('seal_position', '>=', from)
    return query
      .orderBy('seal_position')
      .limit(limit)
      .select<StoredEvent[]>(...storedColumns)
  }

  static async listByIds(db: Db, ids: readonly string[]): Promise<Pick<AuditEventRow, 'id' | 'event' | 'details'>[]> {
    return ids.length === 0 ? [] : rowsOf(AuditEvent, db).whereIn('id', ids).select('id', 'event', 'details')
  }

  /** The first of these rows that is not erased. */
  static async findUnerased(db: Db, ids: readonly string[]): Promise<StoredEvent | undefined> {
    return rowsOf(AuditEvent, db)
      .whereIn('id', [...ids])
      .whereNull('erased_by')
      .orderBy('id')
      .first<StoredEvent>(...storedColumns)
  }

  /** A row with a place in the former chain that is not after its beginning. */
  static async findBeforeChain(db: Db, beginning: number): Promise<StoredEvent | undefined> {
    return rowsOf(AuditEvent, db)
      .where('seal_position', '<=', beginning)
      .whereRaw(isFormer)
      .first<StoredEvent>(...storedColumns)
  }

  /** A row whose position is in a batch that was deleted: `beginning` sees it. */
  static async findBeforeBatches(db: Db, beginning: Snapshot): Promise<StoredEvent | undefined> {
    return rowsOf(AuditEvent, db)
      .where('xid', '<', beginning.xmax)
      .whereRaw(isPlaced)
      .whereNotIn('xid', [Position.counting, ...beginning.running])
      .first<StoredEvent>(...storedColumns)
  }

  static async hasChained(db: Db): Promise<boolean> {
    return (await rowsOf(AuditEvent, db).whereNotNull('seal_position').first('id')) !== undefined
  }

  /** Whether there are rows without a proof, of the first version: from before batches, or from a server that is still running. */
  static async hasUnproven(db: Db): Promise<boolean> {
    const unproven = () => rowsOf(AuditEvent, db).whereNull('mac')
    const former = await unproven().whereRaw(isFormer).whereNull('seal_position').first('id')
    return (former ?? (await unproven().whereRaw(isPlaced).orderBy(['xid', 'id']).first('id'))) !== undefined
  }

  /**
   * When the first of the rows was written that `seen` does not see, that count, or that wait for their place in the former chain.
   * Reads one row of each, since after an upgrade millions may wait.
   */
  static async oldestUnsealedAt(db: Db, seen: Snapshot): Promise<number | undefined> {
    const placed = () => rowsOf(AuditEvent, db).whereRaw(isPlaced).orderBy(['xid', 'id']).select('at').limit(1)
    const former = rowsOf(AuditEvent, db).whereRaw(isFormer).whereNull('seal_position').orderBy('id').select('at').limit(1)
    const others = [Position.counting, ...seen.running].map((xid) => placed().where({ xid }))
    const found = await Promise.all([placed().where('xid', '>=', seen.xmax), former, ...others])
    const times = found.flat().map(({ at }) => at)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Deletes rows from before batches that never got a place in the chain. */
  static async deleteFormerExpired(db: Tx, { until, limit }: Expired): Promise<number> {
    const former = db(AuditEvent.tableName).whereRaw(isFormer).whereNull('seal_position')
    return deleteByKey(AuditEvent, db, former.where('at', '<=', until).limit(limit))
  }

  /** Deletes the rows of the former chain up to a position. */
  static async deleteChained(db: Tx, upTo: number): Promise<number> {
    return rowsOf(AuditEvent, db).where('seal_position', '<=', upTo).whereRaw(isFormer).delete()
  }

  /** Throws if the database drops one of the rows, so that what the event is about does not happen either. */
  static async insert(db: Db, rows: readonly AuditEventRow[]): Promise<void> {
    const [first] = rows
    const isOne = first && rows.length === 1
    assertStored(
      rows.length,
      isOne ? await oneEvent.run(db, first) : await insertRows(db, AuditEvent.tableName, rows, positioned),
    )
  }

  /**
   * Writes an event, or adds it to the count of the event with the same key. An event that stands for several accounts names none
   * of them. False if that event is sealed and no longer counts.
   */
  static async insertOrCount(db: Db, row: AuditEventRow, countedBy: string): Promise<boolean> {
    return (await countedEvent.run(db, { ...row, countedBy })) > 0
  }

  /**
   * Newest first. You can combine the filters. Each filter has an index that ends in the id, so a page is read in order and never
   * sorted. The time range becomes a range of ids, which begin with their millisecond.
   */
  static async listPage(db: Db, { about, ...filters }: AuditFilters, request: AuditPageRequest): Promise<Page<AuditEvent>> {
    const query = AuditEvent.query(db)
    if (about) query.whereIn('audit_events.id', AuditEvent.#idsAbout(db, about, filters, request))
    else AuditEvent.#narrow(query, filters, request)
    return withPage(query, request, 'audit_events.id')
  }

  /**
   * Counts the logins since a time: at most the newest 2,000 that succeeded and as many that failed. In the answer, `since` is
   * the time from which both are counted completely. From there, `steps` steps of `stepMs` each lead up to `now`.
   */
  static async countLogins(
    db: Db,
    { since: wanted, now, steps }: { since: number; now: number; steps: number },
  ): Promise<{ since: number; stepMs: number; tallies: LoginTally[] }> {
    let firstId = firstIdAt(wanted)
    let since = wanted
    for (const event of ['login.success', 'login.failed']) {
      const newest = rowsOf(AuditEvent, db).where({ event }).where('id', '>=', firstId).orderBy('id', 'desc')
      const first = await newest.offset(mostOfEach).first('id', 'at')
      if (!first) continue
      firstId = first.id
      since = Math.max(since, first.at)
    }
    const stepMs = Math.max(1, Math.ceil((now + 1 - since) / steps))
    return { since, stepMs, tallies: await loginTally.all(db, { firstId, since, stepMs }) }
  }

  /**
   * The ids of a page about an address: up to a page of refused logins, and up to a page for each of the users. Each part is read
   * from its index in order.
   */
  static #idsAbout(db: Db, { email, userIds }: About, filters: ColumnFilters, request: AuditPageRequest) {
    const part = (key: { email: string } | { user_id: string }) => {
      const query = AuditEvent.query(db).select('audit_events.id').where(key)
      AuditEvent.#narrow(query, filters, request, true)
      return AuditEvent.query(db)
        .select('part.id')
        .from(pageOrder(query, request, 'audit_events.id').as('part'))
    }
    return part({ email }).unionAll(userIds.map((id) => part({ user_id: id })))
  }

  static #narrow(
    query: QueryBuilder<AuditEvent>,
    filters: ColumnFilters,
    { since, until }: AuditPageRequest,
    isAlreadyNarrow = false,
  ): void {
    let isNarrow = isAlreadyNarrow
    for (const column of filterColumns) {
      const value = filters[column]
      if (value === undefined) continue
      // SQLite keeps no statistics, and might read all logins instead of one person's. So only the narrow filter uses an index.
      if (isNarrow) query.whereRaw('coalesce(??, ??) = ?', [column, column, value])
      else query.where(column, value)
      isNarrow ||= narrowColumns.has(column)
    }
    // The ids limit what is read, but `at` decides. An id is never behind its `at`, so the lower bound loses nothing.
    if (since !== undefined) query.where('audit_events.id', '>=', firstIdAt(since)).where('at', '>=', since)
    if (until !== undefined) query.where('audit_events.id', '<', firstIdAt(until + clockSlackMs)).where('at', '<', until)
  }

  static #details(db: Db, selection: DetailsSelection, { after, limit }: DetailsPage) {
    const query = rowsOf(AuditEvent, db).orderBy('id').limit(limit)
    AuditEvent.#withDetails(query, selection)
    if (after !== undefined) query.where('id', '>', after)
    return query.select<DetailsRow[]>('id', 'details')
  }

  static #withDetails(query: ReturnType<typeof rowsOf<AuditEvent>>, { userId, holding }: DetailsSelection): void {
    query.where({ user_id: userId }).whereNotNull('details')
    if (holding)
      query.where((any) => {
        for (const text of holding) any.orWhereRaw(...holds('details', text))
      })
  }
}

/** A trigger or a rule that someone made can drop rows without an error. */
function assertStored(expected: number, stored: number): void {
  if (stored !== expected)
    throw new Error(`the database stored ${stored} of ${expected} audit events; run gatehouse check --deep, which lists triggers`)
}

/** The condition that a column contains a text. */
function holds(column: string, text: string): [sql: string, bindings: string[]] {
  return [`${column} like ? escape '\\'`, [`%${text.replace(/[\\%_]/g, '\\$&')}%`]]
}

export interface DetailsRow {
  id: string
  /** JSON. */
  details: string
}

/** Selects refused logins with these e-mails, audit reasons about a user or with one of the addresses, or details. */
export type Erasable = { emails: readonly string[] } | { reasonsOf: string; addresses: readonly string[] } | DetailsSelection

/** Selects events about a user, or about no user if null. With `holding`, only those whose JSON contains one of the texts. */
export interface DetailsSelection {
  userId: string | null
  holding?: readonly string[]
}

/** Of a row among those in the order of positions. */
export type Place = Pick<StoredEvent, 'xid' | 'id'>

interface DetailsPage {
  after: string | undefined
  limit: number
}
