import type { QueryBuilder } from 'objection'
import { countOf, insertRows } from '../db/bulk.ts'
import { type Db, isPostgres, type Tx } from '../db/handle.ts'
import { forUpdate, forUpdateOfUnlocked } from '../db/locks.ts'
import { Statement } from '../db/statement.ts'
import { Position, type StoredEvent } from '../lib/audit-proof.ts'
import { only } from '../lib/collections.ts'
import { parseSnapshot, type Snapshot } from '../lib/feed-cursors.ts'
import { cursorOf, type Page, type PageRequest } from '../lib/keyset.ts'
import { firstIdAt } from '../lib/uuid.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'
import { pageOrder, withPage } from './list-query.ts'

/** A row as it is written: `details` is JSON. */
export type AuditEventRow = Pick<AuditEvent, Exclude<Column, 'details'>> & { details: string | null }
type Column = (typeof columns)[number]

// Columns of indexes, which the databases use only where they find the same expression. Rows of one place are ordered by all of
// them too: while Postgres has no statistics, it would look through the primary key for an order by id.
const placeInChain = 'coalesce(seal_position, 0)'
const byPlace = `xid, ${placeInChain}, id`
const lowestId = '00000000-0000-0000-0000-000000000000'
/** Rows from before batches that have no place in the chain. */
const waitsForPlace = `xid = ${Position.former} and ${placeInChain} = 0`
const emailOfNobody = "coalesce(email, '')"
/** Who did it, after a mark if a reason was given. All logins of an outcome stand together. */
const doer = `(case event when 'login.success' then 'success' when 'login.failed' then 'failed'
  else (case when audit_reason is null then '' else '!' end) || cast(actor_id as text) end)`
const reasoned = '!'

const columns = [
  ...(['id', 'event', 'reason', 'audit_reason', 'actor_type', 'actor_id', 'user_id', 'app_id'] as const),
  ...(['ip', 'user_agent', 'request_id', 'details', 'email', 'at', 'salt', 'personal_digest', 'mac'] as const),
] as const
const storedColumns = [...columns, 'count', 'counted_by', 'erased_by', 'erased_mac', 'xid', 'seal_position', 'seal'] as const
const values = columns.map((column) => `:${column}`).join(', ')
/** SQLite: a position above all others, also when every sealed event was deleted. On Postgres, the default of the column. */
const nextPosition = `(select max(coalesce((select xid from audit_events order by xid desc limit 1), 0) + 1,
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
  on conflict (id) do update set count = audit_events.count + 1,
    email = case when audit_events.email = excluded.email then audit_events.email end,
    user_id = case when audit_events.user_id = excluded.user_id then audit_events.user_id end
  where audit_events.xid = ${Position.counting} and audit_events.counted_by = excluded.counted_by`,
)

/** How many successful and how many failed logins are read at most. Both take SQLite 15 ms, in which it does nothing else. */
const mostOfEach = 2_000
/** How many addresses and e-mails are listed. */
const mostListed = 20

// Reads the counted rows once. The number of a step is an integer division, which is the same on both databases.
const loginTally = new Statement<LoginTally>(`
  with recent as materialized (
    select event, reason, ip, user_id, email, count, at from audit_events
    where ${doer} in ('success', 'failed') and id >= :firstId and at >= cast(:since as bigint)
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

/** No user is in these events, so they stand together in the index of users. Their number does not grow with the users. */
const aboutNobody = /^(app|service_account|sso_provider|role_permissions)\.|^role\.(created|updated|deleted)$/
/** How many events a page looks through for those that no index finds. */
const mostSearched = 10_000

const filterColumns = ['user_id', 'actor_id', 'ip', 'app_id', 'request_id'] as const
type ColumnFilters = Partial<Record<(typeof filterColumns)[number], string | undefined>> & {
  kinds?: readonly string[] | undefined
}

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

  /** The next events that have details, sorted by id. */
  static async listDetails(db: Db, of: DetailsSelection, page: DetailsPage): Promise<DetailsRow[]> {
    return AuditEvent.#details(db, of, page)
  }

  /** The next events that `erasable` selects, in the order of their index. Locks them until the transaction ends. */
  static async listErasableForUpdate(
    db: Tx,
    erasable: Erasable,
    { after, limit }: { after: StoredEvent | undefined; limit: number },
  ): Promise<StoredEvent[]> {
    const query = rowsOf(AuditEvent, db).limit(limit)
    if ('email' in erasable) {
      query.whereNull('user_id').whereRaw(`${emailOfNobody} = ?`, [erasable.email]).orderBy('id')
      if (after) query.where('id', '>', after.id)
    } else if ('reasonsOf' in erasable) {
      const ordered = isPostgres(db) ? `${doer} collate "C"` : doer
      query.whereRaw(`${ordered} >= '${reasoned}' and ${ordered} < '"'`).orderByRaw(`${ordered}, id`)
      query.whereNotNull('audit_reason').where((any) => {
        any.where('user_id', erasable.reasonsOf)
        for (const address of erasable.addresses) any.orWhereRaw(...holds('lower(audit_reason)', address))
      })
      if (after) query.whereRaw(`(${ordered}, id) > (?, ?)`, [`${reasoned}${after.actor_id}`, after.id])
    } else AuditEvent.#withDetails(query, erasable, after?.id)
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
    const count = async (query: ReturnType<typeof rowsOf<AuditEvent>>) => Number((await query.count({ n: '*' }))[0]?.n)
    const ofNobody = (email: string) => rowsOf(AuditEvent, db).whereNull('user_id').whereRaw(`${emailOfNobody} = ?`, [email])
    const holding = ofNobody('').where((any) => {
      any.whereRaw('1 = 0')
      for (const address of addresses) any.orWhereRaw(...holds('details', JSON.stringify(address)))
    })
    let counted = (await count(rowsOf(AuditEvent, db).where('user_id', userId))) + (await count(holding))
    for (const address of addresses) if (address !== '') counted += await count(ofNobody(address))
    return counted
  }

  /** The events of these kinds by one actor, oldest first. */
  static async listByActor(db: Db, actorId: string, events: readonly string[]): Promise<AuditEvent[]> {
    return AuditEvent.query(db)
      .whereRaw(`${doer} in (?, ?)`, doersOf(actorId))
      .whereIn('event', [...events])
      .orderBy('id')
  }

  /** The events of a kind that is about no user, after the one with this id, oldest first. */
  static async listSince(db: Db, event: string, afterId: string): Promise<AuditEvent[]> {
    return AuditEvent.query(db)
      .whereNull('user_id')
      .whereRaw(`${emailOfNobody} = ''`)
      .where({ event })
      .where('id', '>', afterId)
      .orderBy(['user_id', 'id'])
  }

  /** What is visible now, in positions. A later statement may see more. */
  static async snapshot(db: Db, shift: number): Promise<Snapshot> {
    if (!isPostgres(db)) {
      const rows: { next: number }[] = await db.raw(`select ${nextPosition} as next`)
      const { next } = only(rows)
      return { xmin: next, xmax: next, running: [] }
    }
    const { rows }: { rows: { snapshot: string }[] } = await db.raw('select pg_current_snapshot()::text as snapshot')
    const { xmin, xmax, running } = parseSnapshot(only(rows).snapshot)
    return { xmin: xmin + shift, xmax: xmax + shift, running: running.map((each) => each + shift) }
  }

  /** Postgres: adds `shift` to the ids of the transactions that write events from now on. */
  static async shiftPositions(db: Tx, shift: number): Promise<void> {
    if (!isPostgres(db)) return
    await db.raw(
      `alter table audit_events alter column xid set default pg_current_xact_id()::text::bigint + ${Math.trunc(shift)}`,
    )
  }

  /**
   * Rows that `seen` does not see, in the order of positions; with `below`, only those below it. Rows that count are not among
   * them.
   */
  static async listUnseen(db: Db, seen: Pick<Snapshot, 'xmax' | 'running'>, range: PlaceRange): Promise<SealableEvent[]> {
    return AuditEvent.#unseen(db, seen, range, [...storedColumns, db.raw(`${contentOn(db)} as content`)])
  }

  /** The same rows, only with what the digest of a batch and its seal need. */
  static async listContents(db: Db, seen: Pick<Snapshot, 'xmax' | 'running'>, range: PlaceRange): Promise<EventContent[]> {
    return AuditEvent.#unseen(db, seen, range, ['xid', 'seal_position', 'id', 'mac', db.raw(`${contentOn(db)} as content`)])
  }

  static async #unseen<Row>(
    db: Db,
    seen: Pick<Snapshot, 'xmax' | 'running'>,
    { after, limit, below }: PlaceRange,
    selected: readonly (string | ReturnType<Db['raw']>)[],
  ): Promise<Row[]> {
    const rows = (limit: number) => {
      const query = db(AuditEvent.tableName).orderByRaw(byPlace).limit(limit)
      if (after) query.whereRaw(`(${byPlace}) > (?, ?, ?)`, [after.xid, after.seal_position ?? 0, after.id])
      return query.select(...selected)
    }
    const former: Row[] = seen.running.length === 0 ? [] : await rows(limit).whereIn('xid', [...seen.running])
    if (former.length === limit) return former
    const later = rows(limit - former.length)
    // SQLite would look up this bound instead of the place.
    if (!after || after.xid < seen.xmax) later.where('xid', '>=', seen.xmax)
    if (below !== undefined) later.where('xid', '<', below)
    const rest: Row[] = await later
    return [...former, ...rest]
  }

  /** Deletes the rows that `from` does not see, and `upto` does. */
  static async deleteBetween(db: Tx, from: Snapshot, upto: Snapshot): Promise<number> {
    return rowsOf(AuditEvent, db)
      .where((unseen) => {
        unseen.where((later) => later.where('xid', '>=', from.xmax).where('xid', '<', upto.xmax))
        if (from.running.length > 0) unseen.orWhereIn('xid', [...from.running])
      })
      .whereNotIn('xid', [...upto.running])
      .delete()
  }

  /** Whether there is a row in these ids that `upto` does not see: not sealed yet, or not written by the service. */
  static async hasUnseen(db: Db, { from, to }: { from: string; to: string }, upto: Snapshot): Promise<boolean> {
    const rows = () => rowsOf(AuditEvent, db).where('id', '>=', from).where('id', '<', to)
    const others = [Position.former, Position.counting, ...upto.running]
    const found = [
      await rows().where('xid', '>=', upto.xmax).orderByRaw(byPlace).first('id'),
      await rows().where('xid', '<', Position.counting).orderByRaw(byPlace).first('id'),
      await rows().whereIn('xid', others).first('id'),
    ]
    return found.some((row) => row !== undefined)
  }

  /** Rows that count and began before `countedBefore`. Skips those that are locked. */
  static async listCountedForUpdate(db: Tx, countedBefore: number, limit: number): Promise<StoredEvent[]> {
    const query = rowsOf(AuditEvent, db)
      .where('xid', Position.counting)
      .where('at', '<', countedBefore)
      .orderByRaw(byPlace)
      .limit(limit)
    return forUpdateOfUnlocked(db, query).select<StoredEvent[]>(...storedColumns)
  }

  /** Gives rows that counted the position of this transaction. */
  static async position(db: Tx, ids: readonly string[]): Promise<void> {
    const xid = db.raw(isPostgres(db) ? 'default' : nextPosition)
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
  static listFormer(db: Db, page: DetailsPage) {
    return AuditEvent.#former(db, page).select<StoredEvent[]>(...storedColumns)
  }

  /** What the table takes with its indexes. Undefined on SQLite, which does not say. */
  static async sizeInBytes(db: Db): Promise<number | undefined> {
    if (!isPostgres(db)) return undefined
    const { rows }: { rows: { bytes: number }[] } = await db.raw(
      `select sum(pg_total_relation_size(oid))::float8 as bytes from pg_class
       where oid = to_regclass('audit_events') or oid in (select inhrelid from pg_inherits where inhparent = to_regclass('audit_events'))`,
    )
    return rows[0]?.bytes
  }

  static async countFormer(db: Db): Promise<number> {
    const [counted] = await rowsOf(AuditEvent, db).whereRaw(waitsForPlace).count({ n: '*' })
    return Number(counted?.n)
  }

  static #former(db: Db, { after, limit }: DetailsPage) {
    // As a range of places, which Postgres reads in order: it would gather and sort all rows of one place, since it expects few.
    return rowsOf(AuditEvent, db)
      .whereRaw(`(${byPlace}) > (${Position.former}, 0, ?)`, [after ?? lowestId])
      .whereRaw(`(${byPlace}) < (${Position.former}, 1, ?)`, [lowestId])
      .orderByRaw(byPlace)
      .limit(limit)
  }

  /**
   * The rows with a position in the former chain from one onwards; with `below`, only those below it. Without, Postgres may gather
   * and sort all of them while it has no statistics, as after an upgrade.
   */
  static async listChained(
    db: Db,
    { from, below, limit }: { from: number; below?: number; limit: number },
  ): Promise<StoredEvent[]> {
    const rows = rowsOf(AuditEvent, db)
      .where('xid', Position.former)
      .whereRaw(`${placeInChain} >= ?`, [Math.max(1, from)])
    if (below !== undefined) rows.whereRaw(`${placeInChain} < ?`, [below])
    return rows
      .orderByRaw(byPlace)
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
    const chained = () => rowsOf(AuditEvent, db).where('xid', Position.former)
    const negative = chained().whereRaw(`${placeInChain} < 0`)
    return (
      (await negative.first<StoredEvent>(...storedColumns)) ??
      (await chained()
        .whereRaw(`${placeInChain} between 1 and ?`, [beginning])
        .first<StoredEvent>(...storedColumns))
    )
  }

  /** A row whose position is in a batch that was deleted, since `beginning` sees it, or that no transaction can have. */
  static async findBeforeBatches(db: Db, beginning: Snapshot): Promise<StoredEvent | undefined> {
    const placed = () => rowsOf(AuditEvent, db).whereNotIn('xid', [...beginning.running])
    const before = placed().where('xid', '>', Position.former).where('xid', '<', beginning.xmax)
    return (
      (await before.first<StoredEvent>(...storedColumns)) ??
      (await placed()
        .where('xid', '<', Position.counting)
        .first<StoredEvent>(...storedColumns))
    )
  }

  static async hasChained(db: Db): Promise<boolean> {
    const chained = rowsOf(AuditEvent, db).where('xid', Position.former).whereRaw(`${placeInChain} > 0`)
    return (await chained.first('id')) !== undefined
  }

  /** Whether there are rows without a proof, of the first version: from before batches, or from a server that is still running. */
  static async hasUnproven(db: Db): Promise<boolean> {
    const unproven = () => rowsOf(AuditEvent, db).whereNull('mac')
    const former = await unproven().whereRaw(waitsForPlace).first('id')
    return (former ?? (await unproven().where('xid', '<>', Position.former).orderByRaw(byPlace).first('id'))) !== undefined
  }

  /**
   * When the first of the rows was written that `seen` does not see, that count, or that wait for their place in the former chain.
   * Reads one row of each, since after an upgrade millions may wait.
   */
  static async oldestUnsealedAt(db: Db, seen: Snapshot): Promise<number | undefined> {
    const placed = () => rowsOf(AuditEvent, db).orderByRaw(byPlace).select('at').limit(1)
    const former = AuditEvent.#former(db, { after: undefined, limit: 1 }).select('at')
    const others = [Position.counting, ...seen.running].map((xid) => placed().where({ xid }))
    const found = await Promise.all([placed().where('xid', '>=', seen.xmax), former, ...others])
    const times = found.flat().map(({ at }) => at)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** Deletes rows from before batches that never got a place in the chain. */
  static async deleteFormerExpired(db: Tx, { until, limit }: Expired): Promise<number> {
    const former = db(AuditEvent.tableName).whereRaw(waitsForPlace).where('at', '<=', until)
    return deleteByKey(AuditEvent, db, former.where('id', '<=', firstIdAt(until + clockSlackMs)).limit(limit))
  }

  /** Deletes the rows of the former chain up to a position. */
  static async deleteChained(db: Tx, upTo: number): Promise<number> {
    return rowsOf(AuditEvent, db).where('xid', Position.former).whereRaw(`${placeInChain} between 1 and ?`, [upTo]).delete()
  }

  /** Throws if the database drops one of the rows, so that what the event is about does not happen either. */
  static async append(db: Db, rows: readonly AuditEventRow[]): Promise<void> {
    const [first] = rows
    const isOne = first && rows.length === 1
    assertStored(
      rows.length,
      isOne ? await oneEvent.run(db, first) : await insertRows(db, AuditEvent.tableName, rows, positioned),
    )
  }

  /**
   * Writes an event, or adds it to the count of the event with the same id and key. An event that stands for several accounts names
   * none of them. False if that event is sealed and no longer counts.
   */
  static async insertOrCount(db: Db, row: AuditEventRow, countedBy: string): Promise<boolean> {
    return (await countedEvent.run(db, { ...row, countedBy })) > 0
  }

  /**
   * Newest first. You can combine the filters. A filter by user, actor or e-mail has an index that ends in the id, so a page is
   * read in order and never sorted; with the others, a page looks through `mostSearched` events, and the next one goes on from
   * there. An index of request ids would cost each login more than it answers. The time range becomes a range of ids, which begin
   * with their millisecond.
   */
  static async listPage(db: Db, { about, ...filters }: AuditFilters, request: AuditPageRequest): Promise<Page<AuditEvent>> {
    const isNarrow = about !== undefined || filters.user_id !== undefined || filters.actor_id !== undefined
    const query = AuditEvent.query(db)
    if (isNarrow)
      return withPage(
        query.whereIn('audit_events.id', AuditEvent.#idsOf(db, about, filters, request)),
        request,
        'audit_events.id',
      )
    const { kinds, ip, app_id, request_id } = filters
    const isSearch =
      [ip, app_id, request_id].some((each) => each !== undefined) || (kinds !== undefined && outcomeOf(kinds) === undefined)
    const end = isSearch ? await AuditEvent.#endOfSearch(db, kinds, request) : undefined
    AuditEvent.#inOrder(query, kinds)
    AuditEvent.#narrow(query, filters, request)
    if (end !== undefined) query.where('audit_events.id', '>=', end)
    const page = await withPage(query, request, 'audit_events.id')
    return page.nextCursor === null && end !== undefined ? { ...page, nextCursor: cursorOf(end) } : page
  }

  /** The id of the last event that a page looks through. Undefined if they are fewer than it may look through. */
  static async #endOfSearch(db: Db, kinds: ColumnFilters['kinds'], request: AuditPageRequest): Promise<string | undefined> {
    const searched = AuditEvent.query(db)
    AuditEvent.#inOrder(searched, kinds)
    AuditEvent.#narrow(searched, {}, request)
    const last = await pageOrder(searched, request, 'audit_events.id')
      .limit(1)
      .offset(mostSearched - 1)
      .select('audit_events.id')
    return last[0]?.id
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
    for (const outcome of ['success', 'failed']) {
      const logins = rowsOf(AuditEvent, db).whereRaw(`${doer} = ?`, [outcome])
      const newest = logins.where('id', '>=', firstId).orderBy('id', 'desc')
      const first = await newest.offset(mostOfEach).first('id', 'at')
      if (!first) continue
      firstId = first.id
      since = Math.max(since, first.at)
    }
    const stepMs = Math.max(1, Math.ceil((now + 1 - since) / steps))
    return { since, stepMs, tallies: await loginTally.all(db, { firstId, since, stepMs }) }
  }

  /**
   * The ids of a page about an address, a user or an actor: up to a page of each part. Each part is read from its index in order.
   */
  static #idsOf(db: Db, about: About | undefined, filters: ColumnFilters, request: AuditPageRequest) {
    const part = (key: (query: QueryBuilder<AuditEvent>) => void, rest: ColumnFilters) => {
      const query = AuditEvent.query(db).select('audit_events.id')
      key(query)
      AuditEvent.#narrow(query, rest, request)
      return AuditEvent.query(db)
        .select('part.id')
        .from(pageOrder(query, request, 'audit_events.id').as('part'))
    }
    const ofUser = (id: string, rest: ColumnFilters) =>
      part((query) => query.where('user_id', id).whereRaw(`${emailOfNobody} = ''`), rest)
    const { user_id, actor_id, ...others } = filters
    if (about) {
      const ofNobody = part(
        (query) => query.whereNull('user_id').whereRaw(`${emailOfNobody} = ?`, [about.email]).orderBy('user_id', 'desc'),
        filters,
      )
      return ofNobody.unionAll(about.userIds.map((id) => ofUser(id, filters)))
    }
    if (user_id !== undefined) return ofUser(user_id, { actor_id, ...others })
    const acts = doersOf(actor_id ?? '').map((each) => part((query) => query.whereRaw(`${doer} = ?`, [each]), others))
    // All logins stand together. Those of the actor are events about the actor.
    return ofUser(actor_id ?? '', filters).unionAll(acts)
  }

  /** Prepares a query for the order of the index that has the events of these kinds together, if there is one. */
  static #inOrder(query: QueryBuilder<AuditEvent>, kinds: ColumnFilters['kinds'] = []): void {
    const outcome = outcomeOf(kinds)
    if (outcome !== undefined) query.whereRaw(`${doer} = ?`, [outcome])
    // Postgres sees that the ids are in order only if all columns before them are in the order of the query.
    else if (kinds.length > 0 && kinds.every((kind) => aboutNobody.test(kind)))
      query.whereNull('user_id').whereRaw(`${emailOfNobody} = ''`).orderBy('user_id', 'desc')
  }

  static #narrow(query: QueryBuilder<AuditEvent>, filters: ColumnFilters, { since, until }: AuditPageRequest): void {
    for (const column of filterColumns) {
      const value = filters[column]
      if (value !== undefined) query.where(column, value)
    }
    if (filters.kinds !== undefined) query.whereIn('event', [...filters.kinds])
    // The ids limit what is read, but `at` decides. An id is never behind its `at`, so the lower bound loses nothing.
    if (since !== undefined) query.where('audit_events.id', '>=', firstIdAt(since)).where('at', '>=', since)
    if (until !== undefined) query.where('audit_events.id', '<', firstIdAt(until + clockSlackMs)).where('at', '<', until)
  }

  static #details(db: Db, selection: DetailsSelection, { after, limit }: DetailsPage) {
    const query = rowsOf(AuditEvent, db).limit(limit)
    AuditEvent.#withDetails(query, selection, after)
    return query.select<DetailsRow[]>('id', 'details')
  }

  static #withDetails(
    query: ReturnType<typeof rowsOf<AuditEvent>>,
    { userId, holding }: DetailsSelection,
    after: string | undefined,
  ): void {
    query.where({ user_id: userId }).whereRaw(`${emailOfNobody} = ''`).whereNotNull('details').orderBy(['user_id', 'id'])
    if (after !== undefined) query.where('id', '>', after)
    if (holding)
      query.where((any) => {
        for (const text of holding) any.orWhereRaw(...holds('details', text))
      })
  }
}

/** Under what the index has the acts of somebody. */
function doersOf(actorId: string): [string, string] {
  return [actorId, `${reasoned}${actorId}`]
}

/** Under what the index has these events, if they are the logins of one outcome. */
function outcomeOf([kind, ...others]: readonly string[]): string | undefined {
  if (others.length > 0) return undefined
  if (kind === 'login.success') return 'success'
  return kind === 'login.failed' ? 'failed' : undefined
}

/** A trigger or a rule that someone made can drop rows without an error. */
export function assertStored(expected: number, stored: number): void {
  if (stored !== expected)
    throw new Error(`the database stored ${stored} of ${expected} audit events; run gatehouse check --deep, which lists triggers`)
}

/** A text that no other event has, made of all columns. It is never compared with one of the other database. */
function contentOn(db: Db): string {
  const text = isPostgres(db) ? contentOnPostgres : contentOnSqlite
  return `case when erased_by is null and event <> 'audit.erased' then ${text} end`
}

/** A digest of the binary form, which has the length of each column. The form as text takes Postgres three times as long. */
const contentOnPostgres = `pg_catalog.encode(pg_catalog.sha256(pg_catalog.record_send(row(${storedColumns.join(', ')}))), 'base64')`
/** Null in most events. */
const rareColumns: readonly string[] = [
  ...(['reason', 'audit_reason', 'actor_id', 'details', 'email', 'counted_by'] as const),
  ...(['erased_by', 'erased_mac', 'seal_position', 'seal'] as const),
] satisfies (typeof storedColumns)[number][]
const usualColumns = storedColumns.filter((name) => !rareColumns.includes(name)).join(', ')
/**
 * JSON is faster than `quote`, but has no bytes, which are above all texts and numbers. `quote` ends a text at its first NUL, so
 * the size of all columns stands beside it: a text that goes on behind a NUL makes it larger. The service stores none.
 */
const contentOnSqlite = `case when coalesce(${rareColumns.join(', ')}) is null and typeof(max(${usualColumns})) = 'text' then json_array(${usualColumns})
  else concat_ws(',', ${storedColumns.map((name) => `quote(${name})`).join(', ')}, octet_length(concat(${storedColumns.join(', ')}))) end`

/** The condition that a column contains a text. */
function holds(column: string, text: string): [sql: string, bindings: string[]] {
  return [`${column} like ? escape '\\'`, [`%${text.replace(/[\\%_]/g, '\\$&')}%`]]
}

export interface DetailsRow {
  id: string
  /** JSON. */
  details: string
}

/** Selects refused logins with an e-mail, audit reasons about a user or with one of the addresses, or details. */
export type Erasable = { email: string } | { reasonsOf: string; addresses: readonly string[] } | DetailsSelection

/** Selects events about a user, or about no user if null. With `holding`, only those whose JSON contains one of the texts. */
interface DetailsSelection {
  userId: string | null
  holding?: readonly string[]
}

/** Of a row among those in the order of positions. */
export type Place = Pick<StoredEvent, 'xid' | 'seal_position' | 'id'>

interface PlaceRange {
  after?: Place | undefined
  limit: number
  below?: number
}

/** All columns as one text. Null if the event was erased or lists erased ones, which has to be compared with other events. */
export interface EventContent extends Place {
  mac: string | null
  content: string | null
}
export type SealableEvent = StoredEvent & EventContent

interface DetailsPage {
  after: string | undefined
  limit: number
}
