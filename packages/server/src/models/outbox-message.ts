import type { Db, Pool, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { firstIdAt } from '../lib/uuid.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { catalogGeneration } from './generation.ts'

/** A lease looks at this many of the longest waiting messages. */
const lookAhead = 200

export const outboxKinds = ['webhook', 'mail'] as const
export type OutboxKind = (typeof outboxKinds)[number]

const rowColumns = [
  ...(['id', 'kind', 'app_id', 'user_id', 'name', 'destination', 'payload', 'status', 'attempts', 'next_attempt_at'] as const),
  ...(['last_status', 'last_error', 'created_at', 'finished_at', 'request_id', 'unsent'] as const),
]
/** A row as it is read. */
export interface OutboxRow extends Pick<OutboxMessage, (typeof rowColumns)[number]> {
  /** Set by a lease: the generation of the catalog at that moment. */
  catalog_generation?: string
}

const deliveryColumns = [
  'id',
  'user_id',
  'name',
  'destination',
  'status',
  'attempts',
  'next_attempt_at',
  'last_status',
  'last_error',
  'created_at',
  'finished_at',
] as const
export type DeliveryRow = Pick<OutboxMessage, (typeof deliveryColumns)[number]>

const mailColumns = [...deliveryColumns, 'app_id', 'request_id', 'unsent'] as const
/** A mail without its content. */
export type MailRow = Pick<OutboxMessage, (typeof mailColumns)[number]>
export type MailStatus = OutboxMessage['status'] | 'unsent'

/** Why there was no mail to send. */
export const unsentReasons = [
  'unknown_user',
  'account_suspended',
  'already_verified',
  'app_inactive',
  'limit_reached',
  'no_longer_needed',
] as const
export type UnsentReason = (typeof unsentReasons)[number]

type FinishedStatus = Exclude<OutboxMessage['status'], 'pending'>

export interface RedeliverySelection {
  appId: string
  /** `isOnly`: no other webhook of the app has the name. */
  webhooks: readonly { name: string; url: string; isOnly: boolean }[]
  status: FinishedStatus
  since: number | undefined
  until: number | undefined
}

/** Deliveries of a webhook that were given up. */
export interface GivenUp {
  app_code: string
  webhook: string
  count: number
  last_at: number
}

/** In the order in which they are sent. */
const priorities = [0, 1] as const

/**
 * The more urgent first, then in turn for each destination, and the longest waiting first. Each priority reads its own range of
 * the index, so retries that are not due yet are skipped. Materialized: another plan could run the look-up, and so its locks, more
 * than once.
 */
const leaseOf = (busy: string, lock: string) => `
  with ${priorities
    .map(
      (priority) => `due_${priority} as materialized (
        select id, destination, priority, next_attempt_at from outbox
        where kind = :kind and priority = ${priority} and status = 'pending' and next_attempt_at <= :now and destination ${busy}
        order by next_attempt_at limit ${lookAhead} ${lock})`,
    )
    .join(', ')},
  due as (${priorities.map((priority) => `select * from due_${priority}`).join(' union all ')}),
  ranked as (
    select id, priority, next_attempt_at,
      row_number() over (partition by destination order by priority, next_attempt_at, id) as turn
    from due)
  update outbox set next_attempt_at = :leasedUntil
  where id in (
    select id from ranked where turn <= :perDestination order by priority, turn, next_attempt_at limit :limit)
  returning ${rowColumns.join(', ')}, ${catalogGeneration}`
const leasing = new Statement<OutboxRow>(
  leaseOf('<> all (array(select json_array_elements_text(cast(:busy as json))))', 'for update skip locked'),
  [leaseOf('not in (select value from json_each(:busy))', '')],
)

const insertedColumns = [
  ...(['id', 'kind', 'app_id', 'user_id', 'name', 'destination', 'payload', 'priority'] as const),
  ...(['created_at', 'next_attempt_at', 'request_id'] as const),
]
type NewOutboxRow = Pick<OutboxMessage, (typeof insertedColumns)[number]>
const insertion = `insert into outbox (${insertedColumns.join(', ')})`
const inserting = new Statement(
  `${insertion} select ${insertedColumns.join(', ')} from json_populate_recordset(cast(null as outbox), cast(:rows as json))`,
  [`${insertion} select ${insertedColumns.map((column) => `value ->> '${column}'`).join(', ')} from json_each(:rows)`],
)

/** What an attempt changes. */
type AttemptEnd = Pick<OutboxRow, 'attempts' | 'last_status' | 'last_error' | 'status' | 'finished_at'> &
  Partial<Pick<OutboxRow, 'next_attempt_at' | 'payload' | 'destination' | 'user_id' | 'unsent'>>
const completing = new Statement(`
  update outbox set attempts = :attempts, last_status = :last_status, last_error = :last_error, status = :status,
    finished_at = :finished_at, next_attempt_at = :next_attempt_at,
    payload = coalesce(:payload, payload), destination = coalesce(:destination, destination),
    user_id = coalesce(:user_id, user_id), unsent = :unsent
  where id = :id and status = 'pending' and next_attempt_at = :leasedUntil`)

/** A webhook or mail that is to be sent, or was. */
export class OutboxMessage extends BaseModel {
  static override tableName = 'outbox'

  /** Stays the same over all attempts, so that a receiver can recognize repeats. */
  declare id: string
  declare kind: OutboxKind
  declare app_id: string | null
  declare user_id: string | null
  /** The name of the webhook in its app, or the purpose of the mail. */
  declare name: string
  /** A URL, or an e-mail address. */
  declare destination: string
  declare payload: string
  /** Due messages with 0 are sent before those with 1. */
  declare priority: (typeof priorities)[number]
  declare status: 'pending' | 'delivered' | 'failed'
  /** How many attempts have ended. */
  declare attempts: number
  declare next_attempt_at: number
  declare last_status: number | null
  declare last_error: string | null
  declare created_at: number
  declare finished_at: number | null
  /** The request that led to it. Null for one by an earlier version. */
  declare request_id: string | null
  /** When it was sent again, if it was. */
  declare queued_at: number | null
  /** Why a failed mail was not to be sent at all. */
  declare unsent: UnsentReason | null

  static async enqueue(db: Tx, rows: readonly NewOutboxRow[]): Promise<void> {
    await inserting.run(db, { rows: JSON.stringify(rows) })
  }

  /** Leases due messages until `leasedUntil`, in one statement, so that no lock is held while a message is sent. */
  static async lease(
    db: Db,
    {
      kind,
      limit,
      perDestination,
      busyDestinations,
      now,
      leasedUntil,
    }: {
      kind: OutboxKind
      limit: number
      perDestination: number
      busyDestinations: readonly string[]
      now: number
      leasedUntil: number
    },
  ): Promise<OutboxRow[]> {
    return leasing.all(db, { kind, limit, perDestination, busy: JSON.stringify(busyDestinations), now, leasedUntil })
  }

  /** Writes how an attempt ended. False if the caller no longer holds the message. */
  static async complete(
    db: Db,
    { id, next_attempt_at: leasedUntil }: Pick<OutboxRow, 'id' | 'next_attempt_at'>,
    end: AttemptEnd,
  ): Promise<boolean> {
    const same = { next_attempt_at: leasedUntil, payload: null, destination: null, user_id: null, unsent: null }
    return (await completing.run(db, { id, leasedUntil, ...same, ...end })) > 0
  }

  /** Changes the destination of a leased message. */
  static async setDestination(db: Db, message: Pick<OutboxRow, 'id' | 'next_attempt_at'>, destination: string): Promise<void> {
    await rowsOf(OutboxMessage, db).where({ id: message.id, next_attempt_at: message.next_attempt_at }).update({ destination })
  }

  /** Makes finished messages pending again, of those that ended with `status` if it is given. Returns how many. */
  static async requeue(
    db: Tx,
    ids: readonly string[],
    { status, now, destination }: { status?: FinishedStatus; now: number; destination: string },
  ): Promise<number> {
    const finished = rowsOf(OutboxMessage, db).whereIn('id', ids)
    if (status === undefined) finished.whereNot({ status: 'pending' })
    else finished.where({ status })
    return finished.update({ ...queuedAgain(now), destination })
  }

  /**
   * The finished deliveries of an app that ended with `status`, are for one of the webhooks and were created in the time range.
   * Leaves out those about erased users, whose payload is gone.
   */
  static redeliverable(db: Db, { appId, webhooks, status, since, until }: RedeliverySelection) {
    const query = rowsOf(OutboxMessage, db)
      .where({ app_id: appId, kind: 'webhook', status })
      .where((any) => {
        // With no webhook, nothing is selected.
        any.whereRaw('1 = 0')
        for (const { name, url, isOnly } of webhooks) {
          any.orWhere({ name, destination: url })
          if (isOnly) any.orWhere((moved) => moved.where({ name }).whereNotExists(twin(db, url)))
        }
      })
      .whereNotExists(erasedUser(db))
    // The ids limit what is read, but `created_at` decides.
    if (since !== undefined) query.where('id', '>=', firstIdAt(since)).where('created_at', '>=', since)
    if (until !== undefined) query.where('created_at', '<', until)
    return query
  }

  /**
   * The webhooks with deliveries that were created since then and given up, those with the most first. Counts at most `most`
   * deliveries.
   */
  static async countGivenUp(db: Db, { since, most, limit }: { since: number; most: number; limit: number }): Promise<GivenUp[]> {
    const some = db('outbox')
      .join('apps as a', 'a.id', 'outbox.app_id')
      .where({ 'outbox.kind': 'webhook', 'outbox.status': 'failed' })
      // A test delivery that an admin sent is about no user.
      .whereNotNull('outbox.user_id')
      // The ids limit what is read, but `created_at` decides.
      .where('outbox.id', '>=', firstIdAt(since))
      .where('outbox.created_at', '>=', since)
      .whereNotExists(erasedUser(db))
      .limit(most)
      .select('a.code as app_code', 'outbox.name as webhook', 'outbox.finished_at as at')
    const counted = await db
      .from(some.as('some'))
      .groupBy('app_code', 'webhook')
      .select('app_code', 'webhook', db.raw('count(*) as count'), db.raw('max(at) as last_at'))
      .orderBy([{ column: 'count', order: 'desc' }, 'app_code', 'webhook'])
      .limit(limit)
    return counted.map((row) => ({ ...row, count: Number(row.count), last_at: Number(row.last_at) }))
  }

  /** How many are pending and since when the first of them is, looking at `most` of them; and when the first is due. */
  static async measure(
    db: Db,
    kind: OutboxKind,
    most: number,
  ): Promise<{ pending: number; pendingSince: number | undefined; dueAt: number | undefined }> {
    // A literal, since SQLite does not use a partial index for a bound value.
    const waiting = () => rowsOf(OutboxMessage, db).where({ kind }).whereRaw("status = 'pending'")
    const since = db.raw('coalesce(queued_at, created_at) as since')
    const [counted] = await db
      .from(waiting().select(since).limit(most).as('some'))
      .count({ pending: '*' })
      .min({ since: 'since' })
    const dueAt: number[] = []
    for (const priority of priorities) {
      const oldest = await waiting().where({ priority }).orderBy('next_attempt_at').first('next_attempt_at')
      if (oldest) dueAt.push(oldest.next_attempt_at)
    }
    return {
      pending: Number(counted?.pending ?? 0),
      pendingSince: counted?.since == null ? undefined : Number(counted.since),
      dueAt: dueAt.length === 0 ? undefined : Math.min(...dueAt),
    }
  }

  /** The webhooks of an app, newest first, and only those before `before` if it is given. */
  static async listDeliveries(
    db: Db,
    appId: string,
    { status, before, limit }: { status: OutboxRow['status'] | undefined; before: string | undefined; limit: number },
  ): Promise<DeliveryRow[]> {
    // Literals, since SQLite does not use a partial index for a bound value.
    const query = rowsOf(OutboxMessage, db).where({ app_id: appId }).whereRaw("kind = 'webhook'")
    if (status === 'failed') query.whereRaw("status = 'failed'")
    else if (status !== undefined) query.where({ status })
    if (before !== undefined) query.where('id', '<', before)
    return query
      .orderBy('id', 'desc')
      .limit(limit)
      .select(...deliveryColumns)
  }

  /** Mails, newest first, and only those before `before` if it is given. */
  static async listMails(
    db: Db,
    { of, status, before, limit }: MailSelection & { before: string | undefined; limit: number },
  ): Promise<MailRow[]> {
    const query = OutboxMessage.#mails(db)
    if (of) query.where((any) => any.where({ user_id: of.userId }).orWhere(untriedTo(of.email)))
    if (status === 'failed') query.whereRaw(givenUp)
    else if (status === 'unsent') query.where({ status: 'failed' }).whereNotNull('unsent')
    else if (status !== undefined) query.where({ status })
    if (before !== undefined) query.where('id', '<', before)
    return query
      .orderBy('id', 'desc')
      .limit(limit)
      .select(...mailColumns)
  }

  /** Whether a mail of the same kind to the same user came after it, and was sent or waits. */
  static async hasNewerMail(db: Db, { id, name }: Pick<OutboxRow, 'id' | 'name'>, userId: string): Promise<boolean> {
    const newer = OutboxMessage.#mails(db).where({ user_id: userId, name }).where('id', '>', id).whereNot({ status: 'failed' })
    return (await newer.first('id')) !== undefined
  }

  /** Makes a mail that was given up pending again. False if it is not, or its content is gone. */
  static async requeueMail(db: Tx, id: string, now: number): Promise<boolean> {
    const kept = OutboxMessage.#mails(db).where({ id }).whereRaw(givenUp).whereNot({ destination: '' })
    return (await kept.update(queuedAgain(now))) > 0
  }

  /**
   * Drops what is left of the mails to a user that were given up. Waits for attempts that are being completed: the rows that it
   * selects include pending ones.
   */
  static async dropGivenUp(db: Tx, { id, email }: { id: string; email: string }): Promise<void> {
    const failed = (column: string) =>
      db.raw(`case when status = 'failed' then ? else ${column} end`, [column === 'payload' ? '{}' : ''])
    await OutboxMessage.#mails(db)
      .whereNot({ status: 'delivered' })
      .where((any) => any.where({ user_id: id }).orWhere(untriedTo(email)))
      .update({ payload: failed('payload'), destination: failed('destination') })
  }

  static #mails(db: Db) {
    // A literal, since SQLite does not use a partial index for a bound value.
    return rowsOf(OutboxMessage, db).whereRaw("kind = 'mail'")
  }

  /**
   * Blanks mails, and ends those that are not sent yet: the mails of a user, or those that were requested only by address, without
   * a user. `finished` are only those that were sent or given up: an older server kept their address.
   */
  static async blankMails(
    db: Pool,
    of: { userId: string } | { destinations: readonly string[] } | { finished: readonly string[] },
    now: number,
  ): Promise<void> {
    const mails = rowsOf(OutboxMessage, db).where({ kind: 'mail' })
    if ('userId' in of) mails.where({ user_id: of.userId })
    else mails.where({ user_id: null }).whereIn('destination', 'finished' in of ? of.finished : of.destinations)
    if ('finished' in of) mails.whereNot({ status: 'pending' })
    await mails.update({ destination: '', payload: '{}', ...OutboxMessage.#ended(db, now) })
  }

  /** How many mails of a user who is erased would be blanked. `unheld` are those of the addresses that no user has now. */
  static async countErasableMails(
    db: Db,
    userId: string,
    { unheld, addresses }: Record<'unheld' | 'addresses', readonly string[]>,
  ): Promise<number> {
    const [counted] = await rowsOf(OutboxMessage, db)
      .where({ kind: 'mail' })
      .whereNot({ destination: '' })
      .where((any) => {
        any.where({ user_id: userId }).orWhere((asked) => {
          asked.whereNull('user_id').where((to) => {
            to.whereIn('destination', unheld).orWhere((finished) => {
              finished.whereIn('destination', addresses).whereNot({ status: 'pending' })
            })
          })
        })
      })
      .count({ n: '*' })
    return Number(counted?.n)
  }

  /** Replaces the payload of a webhook, and ends it if it is not sent yet. */
  static async blankWebhook(db: Pool, { id, payload }: Pick<OutboxRow, 'id' | 'payload'>, now: number): Promise<void> {
    await rowsOf(OutboxMessage, db)
      .where({ id })
      .update({ payload, ...OutboxMessage.#ended(db, now) })
  }

  /** The columns of a finished message. A pending one becomes failed. */
  static #ended(db: Pool, now: number) {
    return {
      status: db.raw("case when status = 'pending' then 'failed' else status end"),
      last_error: db.raw("case when status = 'pending' then 'the user was erased' else last_error end"),
      finished_at: db.raw('coalesce(finished_at, ?)', [now]),
    }
  }
}

/** Strangers can cause any number of mails that failed because none was due. So those that were given up have an index. */
const givenUp = "status = 'failed' and unsent is null"

export interface MailSelection {
  /** Mails to this user, and those that were asked for by the address and not tried yet, so that their user is not known. */
  of: { userId: string; email: string } | undefined
  status: MailStatus | undefined
}

function untriedTo(destination: string) {
  return { user_id: null, destination, status: 'pending' } as const
}

/** The columns of a finished message that is to be sent once more. */
function queuedAgain(now: number) {
  return { status: 'pending', attempts: 0, next_attempt_at: now, queued_at: now, finished_at: null } as const
}

/** Selects the user of a message if that user was erased, so that the payload is gone. */
function erasedUser(db: Db) {
  return db('users').whereRaw('users.id = outbox.user_id').where('users.email', '').select('users.id')
}

/** Selects the message of the same event to another webhook, of the same name and this URL. */
function twin(db: Db, url: string) {
  return (
    db('outbox as twin')
      .whereRaw("twin.kind = 'webhook' and twin.app_id = outbox.app_id and twin.name = outbox.name")
      .whereRaw('twin.created_at = outbox.created_at')
      // Tests are about no user.
      .whereRaw("coalesce(cast(twin.user_id as text), '') = coalesce(cast(outbox.user_id as text), '')")
      .where('twin.destination', url)
      .select('twin.id')
  )
}
