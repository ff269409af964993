import type { QueryBuilder } from 'objection'
import { insertRows } from '../db/bulk.ts'
import type { Db, Pool, Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { Statement } from '../db/statement.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { firstIdAt } from '../lib/uuid.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'
import { pageOrder, withPage } from './list-query.ts'

/** A row as it is written: `details` is JSON. */
export type AuditEventRow = Pick<AuditEvent, Exclude<Column, 'details'>> & { details: string | null }
type Column = (typeof columns)[number]

const columns = [
  ...(['id', 'event', 'reason', 'audit_reason', 'actor_type', 'actor_id', 'user_id', 'app_id'] as const),
  ...(['ip', 'user_agent', 'request_id', 'details', 'email', 'at'] as const),
] as const
const oneEvent = new Statement(
  `insert into audit_events (${columns.join(', ')}) values (${columns.map((column) => `:${column}`).join(', ')})`,
)
const countedEvent = new Statement(
  `insert into audit_events (${columns.join(', ')}, counted_by) values (${columns.map((column) => `:${column}`).join(', ')}, :countedBy)
  on conflict (counted_by) where counted_by is not null do update set count = audit_events.count + 1,
    email = case when audit_events.email = excluded.email then audit_events.email end,
    user_id = case when audit_events.user_id = excluded.user_id then audit_events.user_id end`,
)

/** Of the logins that succeeded, and of those that failed. Together SQLite reads them in about 15 ms, in which it does nothing else. */
const mostOfEach = 2_000
/** How many addresses and e-mails are listed. */
const mostListed = 20

// What is counted is read once. A number of a step is the whole part of a division, by whole numbers on both databases.
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

/** One figure of the logins of a time. `name` is the outcome, the number of the step, the address, or the e-mail that no user has. */
export interface LoginTally {
  part: 'outcome' | 'succeeded' | 'failed' | 'address' | 'email'
  name: string | null
  user_id: string | null
  count: number
  last_at: number
}

/** Those that leave few events come first. */
const filterColumns = ['user_id', 'actor_id', 'ip', 'app_id', 'event'] as const
const narrowColumns: ReadonlySet<string> = new Set(['user_id', 'actor_id', 'ip'])
type ColumnFilters = Partial<Record<(typeof filterColumns)[number], string | undefined>>

/** Whose events: those of the users who have an address, and the refused logins with it that are about no user. */
interface About {
  email: string
  userIds: readonly string[]
}

type AuditFilters = ColumnFilters & { about?: About | undefined }
type AuditPageRequest = PageRequest & { since?: number | undefined; until?: number | undefined }

/** How far an id may run ahead of its `at`: a process whose clock is set back goes on from the newest id it made. */
const clockSlackMs = 60 * 60 * 1000

/** A row of the audit log. It names what it is about without foreign keys, and so outlives it. */
export class AuditEvent extends BaseModel {
  static override tableName = 'audit_events'
  static override jsonAttributes = ['details']

  declare id: string
  declare event: string
  declare reason: string | null
  /** What the caller said for the audit. */
  declare audit_reason: string | null
  declare actor_type: 'user' | 'service_account' | 'system' | 'anonymous'
  declare actor_id: string | null
  declare user_id: string | null
  declare app_id: string | null
  declare ip: string | null
  declare user_agent: string | null
  declare request_id: string | null
  declare details: Record<string, unknown> | null
  /** Of a refused login that is about no user. */
  declare email: string | null
  declare count: number
  declare counted_by: string | null
  declare at: number

  static async findById(db: Db, id: string): Promise<AuditEvent | undefined> {
    return AuditEvent.query(db).findById(id)
  }

  /** The next of the events that have details, in the order of their ids. */
  static async listDetails(db: Db, of: DetailsSelection, page: DetailsPage): Promise<DetailsRow[]> {
    return AuditEvent.#details(db, of, page)
  }

  /** The same, locked until the transaction ends. */
  static async listDetailsForUpdate(db: Tx, of: DetailsSelection, page: DetailsPage): Promise<DetailsRow[]> {
    return forUpdate(db, AuditEvent.#details(db, of, page))
  }

  /** Gives some events other details. */
  static async setDetails(db: Tx, rows: readonly DetailsRow[]): Promise<void> {
    const byId = db.raw(
      `case id ${'when ? then ? '.repeat(rows.length)}end`,
      rows.flatMap(({ id, details }) => [id, details]),
    )
    const ids = rows.map(({ id }) => id)
    await rowsOf(AuditEvent, db).whereIn('id', ids).update({ details: byId })
  }

  /** Removes what callers said for the audit of events about a user, and wherever it names one of the addresses. */
  static async blankReasons(db: Pool, userId: string, addresses: readonly string[]): Promise<void> {
    await rowsOf(AuditEvent, db)
      .whereNotNull('audit_reason')
      .where((any) => {
        any.where('user_id', userId)
        for (const address of addresses) any.orWhereRaw(...holds('lower(audit_reason)', address))
      })
      .update({ audit_reason: null })
  }

  /** Events about a user, and those about nobody that hold one of the addresses. */
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

  /** The events of a kind after one of them, oldest first. */
  static async listSince(db: Db, event: string, afterId: string): Promise<AuditEvent[]> {
    return AuditEvent.query(db).where({ event }).where('id', '>', afterId).orderBy('id')
  }

  static async deleteExpired(db: Pool, { until, limit }: Expired): Promise<number> {
    return deleteByKey(AuditEvent, db, db(AuditEvent.tableName).where('at', '<=', until).limit(limit))
  }

  static async insert(db: Db, rows: readonly AuditEventRow[]): Promise<void> {
    const [first] = rows
    if (first && rows.length === 1) await oneEvent.run(db, first)
    else await insertRows(db, AuditEvent.tableName, rows)
  }

  /** Writes an event, or counts it in the one that has the same key. One that stands for several accounts names none of them. */
  static async insertOrCount(db: Db, row: AuditEventRow, countedBy: string): Promise<void> {
    await countedEvent.run(db, { ...row, countedBy })
  }

  /** Removes the addresses from refused logins, `limit` of them at a time; says how many. */
  static async blankEmails(db: Pool, emails: readonly string[], limit: number): Promise<number> {
    const some = rowsOf(AuditEvent, db).whereIn('email', emails).limit(limit).select('id')
    return rowsOf(AuditEvent, db).whereIn('id', some).update({ email: null })
  }

  /**
   * Newest first, by any of the filters together. Each filter has an index that ends in the id, so that a page is read off it in order
   * and never sorted; the time range becomes a range of ids, which begin with their millisecond.
   */
  static async listPage(db: Db, { about, ...filters }: AuditFilters, request: AuditPageRequest): Promise<Page<AuditEvent>> {
    const query = AuditEvent.query(db)
    if (about) query.whereIn('audit_events.id', AuditEvent.#idsAbout(db, about, filters, request))
    else AuditEvent.#narrow(query, filters, request)
    return withPage(query, request, 'audit_events.id')
  }

  /**
   * Counts the logins since a moment: at most the newest 2,000 that succeeded and as many that failed. `since` in the answer is the moment
   * from which on both are counted whole, and the steps go on from there in `stepMs` each, `steps` of them up to `now`.
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

  /** The ids of a page about an address: as many of refused logins, and of each of the users. Each part is read off its index in order. */
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
      // SQLite keeps no statistics: beside a person it might read all logins ever, so nothing but the person may lead to an index.
      if (isNarrow) query.whereRaw('coalesce(??, ??) = ?', [column, column, value])
      else query.where(column, value)
      isNarrow ||= narrowColumns.has(column)
    }
    // The ids bound what is read, `at` decides. An id is never behind its `at`, so the lower bound loses nothing.
    if (since !== undefined) query.where('audit_events.id', '>=', firstIdAt(since)).where('at', '>=', since)
    if (until !== undefined) query.where('audit_events.id', '<', firstIdAt(until + clockSlackMs)).where('at', '<', until)
  }

  static #details(db: Db, { userId, holding }: DetailsSelection, { after, limit }: DetailsPage) {
    const query = rowsOf(AuditEvent, db).where({ user_id: userId }).whereNotNull('details').orderBy('id').limit(limit)
    if (holding)
      query.where((any) => {
        for (const text of holding) any.orWhereRaw(...holds('details', text))
      })
    if (after !== undefined) query.where('id', '>', after)
    return query.select<DetailsRow[]>('id', 'details')
  }
}

/** The condition that a column holds a text. */
function holds(column: string, text: string): [sql: string, bindings: string[]] {
  return [`${column} like ? escape '\\'`, [`%${text.replace(/[\\%_]/g, '\\$&')}%`]]
}

export interface DetailsRow {
  id: string
  /** JSON. */
  details: string
}

/** Events about a user, or about nobody; of these, those whose JSON holds one of the texts. */
export interface DetailsSelection {
  userId: string | null
  holding?: readonly string[]
}

interface DetailsPage {
  after: string | undefined
  limit: number
}
