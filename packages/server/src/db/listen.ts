import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { isBehindPooler } from './behind-pooler.ts'

const connectTimeoutMs = 4_000
/** How long a message to oneself or another question may take; without an answer by then nothing is heard here. */
const echoTimeoutMs = 2_000
const probeEveryMs = 15_000
const firstRetryMs = 500
const lastRetryMs = 30_000
const probePrefix = 'probe:'

export interface Ears {
  onMessage(payload: string): void
  /** Messages may have been missed until now, and are not from now on. */
  onHearing(): void
  /** Nothing is heard from now on, and why. Told once until it is heard again. */
  onSilence(reason: unknown): void
}

export interface Listener {
  readonly isHearing: boolean
  stop(): Promise<void>
}

/**
 * Listens to a channel of a Postgres database on a connection of its own, for as long as it takes: one that drops is made again, later
 * and later. It counts as hearing only on a connection to Postgres itself, and only while messages to itself arrive there: behind a
 * pooler such as PgBouncer LISTEN succeeds and is silent.
 */
export function listen(databaseUrl: string, channel: string, ears: Ears): Listener {
  const stopping = new AbortController()
  const { signal } = stopping
  let isHearing = false
  let hasComplained = false
  let retryMs = firstRetryMs

  const hear = () => {
    isHearing = true
    hasComplained = false
    retryMs = firstRetryMs
    ears.onHearing()
  }

  const run = async () => {
    while (!signal.aborted) {
      try {
        await attend(databaseUrl, channel, { onMessage: ears.onMessage, onHearing: hear }, signal)
      } catch (error) {
        isHearing = false
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
      return isHearing
    },
    async stop() {
      stopping.abort()
      await running
    },
  }
}

/** Listens on one connection. Throws if the connection fails, and returns after a stop. */
async function attend(
  databaseUrl: string,
  channel: string,
  ears: Pick<Ears, 'onMessage' | 'onHearing'>,
  signal: AbortSignal,
): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'gatehouse-listener',
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
  client.on('end', () => fail(new Error('the connection that listens has ended')))
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
    await Promise.race([client.connect(), broken])
    await Promise.race([assertDirect(client), broken])
    await Promise.race([client.query(`listen ${client.escapeIdentifier(channel)}`), broken])
    await probe()
    ears.onHearing()
    for (;;) {
      await Promise.race([sleep(probeEveryMs, undefined, { signal }), broken])
      await probe()
    }
  } finally {
    signal.removeEventListener('abort', stop)
    await leave(client)
  }
}

/** A message to oneself would tell nothing: it comes back with the statement that sends it, when that runs where the LISTEN once did. */
async function assertDirect(client: pg.Client): Promise<void> {
  const processID = 'processID' in client && typeof client.processID === 'number' ? client.processID : null
  const isIndirect = await isBehindPooler({ processID, query: (question) => client.query(question) }, echoTimeoutMs)
  if (isIndirect) throw new Error('LISTEN is silent: a pooler stands before Postgres')
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
      const tooLate = () => reject(new Error('LISTEN is silent: a message to itself did not arrive'))
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
