import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Db, isPostgres, type Pool, primaryOf } from './handle.ts'
import { inspectConnection } from './inspect-connection.ts'
import { asConnection, type Primary } from './primary.ts'

type Channel = 'gatehouse_revocations'

/**
 * Notifies every server that shares the database. Never do so in a transaction: Postgres would hold a lock, across all of its
 * databases, until the commit. `listenFor` receives it.
 */
export async function notify(db: Pool, channel: Channel, payload: string): Promise<void> {
  if (isPostgres(db)) await db.raw('select pg_notify(?, ?)', [channel, payload])
}

/** Receives these notifications, on a connection outside the pool. Undefined on SQLite, which has one server. */
export function listenFor(db: Db, channel: Channel, ears: MessageListener): Listener | undefined {
  const primary = primaryOf(db)
  return primary && listen(primary, channel, ears)
}

/**
 * Whether a server of the previous version is connected to this Postgres, as far as this role sees. Its connection for
 * notifications has another name than ours.
 */
export async function hasOlderListener(db: Db): Promise<boolean> {
  const name = { datname: db.raw('current_database()'), application_name: 'gatehouse-listener' }
  return (await db('pg_stat_activity').where(name).first('pid')) !== undefined
}

const connectTimeoutMs = 4_000
/** How long a probe message or a query may take. After that, the connection counts as silent. */
const echoTimeoutMs = 2_000
const probeEveryMs = 15_000
const firstRetryMs = 500
const lastRetryMs = 30_000
const probePrefix = 'probe:'

interface MessageListener {
  onMessage(payload: string): void
  /** Messages are heard from now on. Earlier ones may have been missed. */
  onHearing(): void
  /** Nothing is heard from now on, for this reason. Called once until messages are heard again. */
  onSilence(reason: unknown): void
}

export interface Listener {
  readonly isHearing: boolean
  stop(): Promise<void>
}

/**
 * Listens to a channel of a Postgres database on a dedicated connection, until stopped. Reconnects, with growing delays, when the
 * connection drops or a standby has replaced the database. It counts as hearing only on a direct connection to Postgres, and only
 * while its own probe messages arrive there: behind a pooler such as PgBouncer, LISTEN succeeds and is silent.
 */
export function listen(primary: Primary, channel: string, ears: MessageListener): Listener {
  const stopping = new AbortController()
  const { signal } = stopping
  /** The era in which it hears. Undefined while it does not. */
  let era: number | undefined
  let hasComplained = false
  let retryMs = firstRetryMs

  const hear = (on: number) => {
    era = on
    hasComplained = false
    retryMs = firstRetryMs
    ears.onHearing()
  }

  const run = async () => {
    while (!signal.aborted) {
      try {
        await attend(primary, channel, { onMessage: ears.onMessage, onHearing: hear }, signal)
      } catch (error) {
        era = undefined
        if (!hasComplained && !signal.aborted) ears.onSilence(error)
        hasComplained = true
      }
      await sleep(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => {})
      retryMs = Math.min(retryMs * 2, lastRetryMs)
    }
  }
  const running = run()
  return {
    get isHearing() {
      return era === primary.era
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Listens on one connection. Ends by throwing: when the connection fails, or after a stop. */
async function attend(
  primary: Primary,
  channel: string,
  ears: Pick<MessageListener, 'onMessage'> & { onHearing(era: number): void },
  signal: AbortSignal,
): Promise<void> {
  const client = new pg.Client({
    connectionString: await primary.find(),
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'gatehouse-feed',
    keepAlive: true,
  })
  let fail: (reason: unknown) => void = () => {}
  const broken = new Promise<never>((_, reject) => {
    fail = reject
  })
  broken.catch(() => {})
  const stop = () => fail(signal.reason)
  signal.addEventListener('abort', stop)
  client.on('error', fail)
  client.on('end', () => fail(new Error('the LISTEN connection has ended')))
  const echo = new Echo()
  client.on('notification', ({ payload = '' }) => {
    if (!payload.startsWith(probePrefix)) ears.onMessage(payload)
    else echo.hear(payload)
  })
  const probe = async () => {
    const heard = echo.expect(`${probePrefix}${randomUUID()}`)
    const sent = client.query('select pg_notify($1, $2)', [channel, heard.payload])
    await Promise.race([Promise.all([sent, heard.arrival]), broken])
  }
  try {
    const era = await Promise.race([open(client, primary), broken])
    await Promise.race([client.query(`listen ${client.escapeIdentifier(channel)}`), broken])
    await probe()
    ears.onHearing(era)
    for (;;) {
      await Promise.race([sleep(probeEveryMs, undefined, { signal }), broken])
      if (era !== primary.era) throw new Error('the database has failed over')
      await probe()
    }
  } finally {
    signal.removeEventListener('abort', stop)
    await leave(client)
  }
}

/**
 * Connects directly to Postgres, and returns the era. Throws behind a pooler, where a probe message proves nothing: it comes back
 * with the statement that sends it, if that runs on the connection that once ran the LISTEN.
 */
async function open(client: pg.Client, primary: Primary): Promise<number> {
  await client.connect()
  const standing = await inspectConnection(asConnection(client), echoTimeoutMs)
  if (standing.isBehindPooler) throw new Error('LISTEN is silent: a pooler is in front of Postgres')
  return primary.admit(standing)
}

async function leave(client: pg.Client): Promise<void> {
  const ended = client.end().catch(() => {})
  await Promise.race([ended, sleep(1_000, undefined, { ref: false })])
}

/** Waits for the message that this process sent to itself. */
class Echo {
  #awaited: { payload: string; arrived: () => void } | undefined

  expect(payload: string): { payload: string; arrival: Promise<void> } {
    const arrival = new Promise<void>((resolve, reject) => {
      const tooLate = () => reject(new Error('LISTEN is silent: a probe message did not arrive'))
      const timer = setTimeout(tooLate, echoTimeoutMs).unref()
      this.#awaited = {
        payload,
        arrived() {
          clearTimeout(timer)
          resolve()
        },
      }
    })
    arrival.catch(() => {})
    return { payload, arrival }
  }

  hear(payload: string): void {
    if (this.#awaited?.payload === payload) this.#awaited.arrived()
  }
}
