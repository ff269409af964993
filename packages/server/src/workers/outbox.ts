import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../deps.ts'
import { onDemand } from '../lib/on-demand.ts'
import { claimEntries } from '../resources/outbox/claim-entries.ts'
import type { OutboxEntry, OutboxKind } from '../resources/outbox/entry.ts'
import { type Outcome, type Settlement, settleEntry } from '../resources/outbox/settle-entry.ts'

/** How one kind of entry is sent. */
export interface Channel {
  /** Attempts under way at a time: in all, and to one destination, so that a dead one takes no other's turn. */
  atOnce: number
  atOncePerDestination: number
  /** Pauses after the first attempt, the second, and so on; after the last of them it is given up. */
  waitsMs: readonly number[]
  /** One attempt, within its own time limit; a throw counts as a failure that may be tried again. */
  attempt(deps: Deps, entry: OutboxEntry): Promise<Outcome>
  /** What stays of the payload once it is finished. */
  remains?: string
  /** Run with what is given up, in one transaction. */
  onGivenUp?(deps: Deps, entry: OutboxEntry, outcome: Outcome): Promise<void>
}
export type Channels = Record<OutboxKind, Channel>

const claimSize = 50
/** What other servers wrote, and what a dead one had claimed, is found by looking. */
const pollMs = 1_000
const longestRetryAfterMs = 60_000
const settleRetryMs = 500
const settleTries = 40

/**
 * Sends what lies in the outbox, any number of servers together: each entry is claimed by one of them and settled when its attempt has
 * ended. An entry is sent again only when the server that claimed it died, or could not reach the database for a minute.
 */
export function startOutbox(deps: Deps, channels: Channels): { stop(): Promise<void> } {
  const underway = new Map<Promise<void>, OutboxEntry>()
  const timers = new Set<NodeJS.Timeout>()
  let hasLeftSome = false
  let isStopping = false

  const busy = () => {
    const kinds = tally([...underway.values()].map(({ kind }) => kind))
    const destinations = tally([...underway.values()].map(({ kind, destination }) => `${kind} ${destination}`))
    return {
      busyKinds: [...kinds].filter(([kind, count]) => count >= channels[kind].atOnce).map(([kind]) => kind),
      busyDestinations: [...underway.values()]
        .filter(({ kind, destination }) => destinations.get(`${kind} ${destination}`)! >= channels[kind].atOncePerDestination)
        .map(({ destination }) => destination),
    }
  }
  const wakeIn = (ms: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      sender.wake()
    }, ms)
    timers.add(timer)
  }
  const launch = (entry: OutboxEntry) => {
    const sent = send(deps, channels[entry.kind], entry)
      .then((waitMs) => {
        if (waitMs !== undefined && !isStopping) wakeIn(waitMs + 1)
      })
      .catch((error) => deps.logger.error({ err: error, outbox_id: entry.id }, 'an attempt could not be settled'))
      .finally(() => {
        underway.delete(sent)
        if (hasLeftSome && !isStopping) sender.wake()
      })
    underway.set(sent, entry)
  }
  const sender = onDemand(
    async () => {
      const { busyKinds, busyDestinations } = busy()
      const entries = await claimEntries(deps, { limit: claimSize, busyKinds, busyDestinations })
      hasLeftSome = busyKinds.length > 0 || busyDestinations.length > 0
      for (const entry of entries) launch(entry)
      if (entries.length === claimSize) sender.wake()
    },
    (error) => deps.logger.warn({ err: error }, 'the outbox cannot be read; trying each second'),
  )
  deps.outboxBell.onRing = sender.wake
  const poll = setInterval(sender.wake, pollMs)
  sender.wake()
  return {
    async stop() {
      isStopping = true
      deps.outboxBell.onRing = () => {}
      clearInterval(poll)
      for (const timer of timers) clearTimeout(timer)
      await sender.stop()
      await Promise.all(underway.keys())
    },
  }
}

function tally<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** One attempt from its beginning until it is settled; answers the pause until the next one. */
async function send(deps: Deps, channel: Channel, entry: OutboxEntry): Promise<number | undefined> {
  const outcome = await channel
    .attempt(deps, entry)
    .catch((error): Outcome => ({ result: 'failed', error: error instanceof Error ? error.message : String(error) }))
  const waitMs = pauseAfter(channel, entry, outcome)
  log(deps, entry, outcome, waitMs)
  await settle(deps, entry, outcome, {
    waitMs,
    remains: channel.remains,
    onGivenUp: channel.onGivenUp && ((deps) => channel.onGivenUp!(deps, entry, outcome)),
  })
  return waitMs
}

function pauseAfter(channel: Channel, entry: OutboxEntry, outcome: Outcome): number | undefined {
  if (outcome.result === 'delivered' || outcome.isFinal) return undefined
  const waitMs = channel.waitsMs[entry.attempts]
  return waitMs === undefined ? undefined : Math.max(waitMs, Math.min(outcome.retryAfterMs ?? 0, longestRetryAfterMs))
}

/** The database may be away just now; what was sent is not to be sent again for that. */
async function settle(deps: Deps, entry: OutboxEntry, outcome: Outcome, settlement: Settlement): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      const isOurs = await settleEntry(deps, entry, outcome, settlement)
      if (!isOurs) deps.logger.warn({ outbox_id: entry.id }, 'the attempt was settled elsewhere')
      return
    } catch (error) {
      if (tries === settleTries) throw error
      await sleep(settleRetryMs)
    }
  }
}

function log({ logger }: Deps, entry: OutboxEntry, outcome: Outcome, waitMs: number | undefined): void {
  const facts = { outbox_id: entry.id, kind: entry.kind, name: entry.name, attempt: entry.attempts + 1, status: outcome.status }
  if (outcome.result === 'delivered') logger.debug(facts, 'sent')
  else logger.warn({ ...facts, error: outcome.error, retry_in_ms: waitMs }, waitMs === undefined ? 'given up' : 'not sent')
}
