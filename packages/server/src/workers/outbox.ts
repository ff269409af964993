import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool, Tx } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { keysOf } from '../lib/collections.ts'
import type { OutboxKind, OutboxRow } from '../models/outbox-message.ts'
import {
  type AttemptOutcome,
  type Completion,
  completeAttempt,
  type FailedAttempt,
  type LeaseRequest,
  leaseMessages,
} from '../resources/outbox/outbox.ts'
import { pauseAfter } from './retries.ts'
import { wakeable } from './wakeable.ts'

/** How one kind of message is sent. */
export interface Channel {
  /**
   * Concurrent attempts: in total, and to one destination. The second half of the slots goes to destinations that have no attempt
   * yet, one each, so that dead destinations do not block others.
   */
  atOnce: number
  atOncePerDestination: number
  /** Pauses after the first failed attempt, the second, and so on. The attempt after the last pause is the last one. */
  waitsMs: readonly number[]
  /** Makes one attempt, within its own time limit. If it throws, the attempt has failed and may be retried. */
  attempt(deps: Deps<Pool>, message: OutboxRow): Promise<AttemptOutcome>
  /** Columns that are overwritten once the message is finished, unless it was given up. */
  remains?: Completion['remains']
  /** Runs when a message is given up, in the same transaction. */
  onGivenUp?(deps: Deps<Tx>, message: OutboxRow, outcome: FailedAttempt): Promise<void>
}
type Channels = Record<OutboxKind, Channel>

const leaseSize = 50
const leasePerDestination = 8
/** How often the worker looks for messages that other servers wrote or that a dead server had leased. */
const pollMs = 1_000
const wakeGridMs = 100
const completeRetryMs = 500

/**
 * Sends the messages of the outbox, on any number of servers. One server leases a message and completes the attempt when it has
 * ended. A message that was sent is sent again only if that server died or could not reach the database until the lease ended.
 */
export function startOutbox(deps: Deps<Pool>, channels: Channels): { stop(): Promise<void> } {
  const senders = new Map(keysOf(channels).map((kind) => [kind, startSender(deps, kind, channels[kind])]))
  deps.outboxBell.onRing = (kind) => {
    for (const [of, sender] of senders) if (kind === undefined || kind === of) sender.wake()
  }
  return {
    async stop() {
      deps.outboxBell.onRing = () => {}
      await Promise.all([...senders.values()].map((sender) => sender.stop()))
    },
  }
}

interface Sender {
  wake(): void
  stop(): Promise<void>
}

function startSender(deps: Deps<Pool>, kind: OutboxKind, channel: Channel): Sender {
  // Prometheus sees no increase in a counter that appears with its first event, and one of these is an alarm.
  deps.metrics.attempts.inc({ kind, outcome: 'given_up' }, 0)
  const underway = new Map<Promise<void>, OutboxRow>()
  const timers = new Map<number, NodeJS.Timeout>()
  const stopping = new AbortController()
  let hasLeftSome = false

  /** Retries that are due in the same tenth of a second share one wake. */
  const wakeIn = (ms: number) => {
    const tick = Math.ceil((performance.now() + ms) / wakeGridMs)
    if (timers.has(tick)) return
    const wake = () => {
      timers.delete(tick)
      sender.wake()
    }
    timers.set(tick, setTimeout(wake, tick * wakeGridMs - performance.now()))
  }
  const launch = (message: OutboxRow) => {
    const sent = send(deps, channel, message, stopping.signal)
      .then((waitMs) => {
        if (waitMs !== undefined && !stopping.signal.aborted) wakeIn(waitMs)
      })
      .catch((error: unknown) => deps.logger.error({ err: error, outbox_id: message.id }, 'an attempt could not be completed'))
      .finally(() => {
        underway.delete(sent)
        if (hasLeftSome && !stopping.signal.aborted) sender.wake()
      })
    underway.set(sent, message)
  }
  const sender = wakeable(
    async () => {
      if (stopping.signal.aborted) return
      const lease = nextLease(kind, channel, [...underway.values()])
      hasLeftSome = lease.limit === 0 || lease.busyDestinations.length > 0
      if (lease.limit === 0) return
      const messages = await leaseMessages(deps, lease)
      for (const message of messages) launch(message)
      const fullest = Math.max(0, ...tally(messages.map(({ destination }) => destination)).values())
      if (messages.length === lease.limit || fullest === lease.perDestination) sender.wake()
    },
    (error) => deps.logger.warn({ err: error, kind }, 'the outbox cannot be read; retrying every second'),
  )
  const poll = setInterval(sender.wake, pollMs)
  sender.wake()
  return {
    wake: sender.wake,
    async stop() {
      stopping.abort()
      clearInterval(poll)
      for (const timer of timers.values()) clearTimeout(timer)
      await sender.stop()
      await Promise.all(underway.keys())
    },
  }
}

/** The messages of a kind that may be leased now, in addition to the attempts under way. */
function nextLease(kind: OutboxKind, channel: Channel, underway: readonly OutboxRow[]): LeaseRequest {
  const destinations = underway.map(({ destination }) => destination)
  const half = Math.ceil(channel.atOnce / 2)
  const isCrowded = destinations.length >= half
  const share = isCrowded ? 1 : channel.atOncePerDestination
  const counts = [...tally(destinations)]
  const mostBelow = Math.max(0, ...counts.map(([, count]) => count).filter((count) => count < share))
  return {
    kind,
    limit: Math.min(leaseSize, (isCrowded ? channel.atOnce : half) - destinations.length),
    perDestination: Math.min(leasePerDestination, share - mostBelow),
    busyDestinations: counts.filter(([, count]) => count >= share).map(([destination]) => destination),
  }
}

function tally<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** If all addresses refuse a connection, the error has a code and no message. */
function describe(error: unknown): string {
  const { message, code }: Partial<NodeJS.ErrnoException> = Object(error)
  return message || code || String(error)
}

/** Makes one attempt and writes how it ended. Returns the pause until the next one, in milliseconds, if any. */
async function send(deps: Deps<Pool>, channel: Channel, message: OutboxRow, stopping: AbortSignal): Promise<number | undefined> {
  const outcome = await channel
    .attempt(deps, message)
    .catch((error: unknown): AttemptOutcome => ({ result: 'failed', error: describe(error) }))
  const waitMs = pauseAfter(channel, message, outcome)
  report(deps, message, outcome, waitMs)
  const onGivenUp = async (deps: Deps<Tx>) => {
    if (outcome.result === 'failed') await channel.onGivenUp?.(deps, message, outcome)
  }
  const completion = { waitMs, remains: channel.remains, onGivenUp: channel.onGivenUp && onGivenUp }
  await complete(deps, message, outcome, completion, stopping)
  return waitMs
}

/** Retries until the lease ends, so that a lost database connection causes no second send. A stopping server tries once more. */
async function complete(
  deps: Deps<Pool>,
  message: OutboxRow,
  outcome: AttemptOutcome,
  completion: Completion,
  stopping: AbortSignal,
): Promise<void> {
  for (;;) {
    const isLastTry = stopping.aborted || deps.clock() >= message.next_attempt_at
    try {
      const isOurs = await completeAttempt(deps, message, outcome, completion)
      if (!isOurs) deps.logger.warn({ outbox_id: message.id }, 'the attempt was completed elsewhere')
      return
    } catch (error) {
      if (isLastTry) throw error
      await sleep(completeRetryMs, undefined, { signal: stopping }).catch(() => {})
    }
  }
}

/** The only place that logs and counts attempts. */
function report({ logger, metrics }: Deps, message: OutboxRow, outcome: AttemptOutcome, waitMs: number | undefined): void {
  const facts = {
    outbox_id: message.id,
    kind: message.kind,
    name: message.name,
    attempt: message.attempts + 1,
    // The request that led to it, as the lines about that request say it.
    request_id: message.request_id ?? undefined,
    user_id: message.user_id ?? outcome.userId ?? undefined,
    app_id: message.app_id ?? undefined,
  }
  const end = outcome.result !== 'failed' ? outcome.result : waitMs === undefined ? 'given_up' : 'retried'
  metrics.attempts.inc({ kind: message.kind, outcome: end })
  if (outcome.result === 'unsent') {
    logger.debug({ ...facts, reason: outcome.reason }, 'nothing to send')
    return
  }
  const { status } = outcome
  if (outcome.result === 'delivered') logger.debug({ ...facts, status }, 'sent')
  else
    logger.warn({ ...facts, status, error: outcome.error, retry_in_ms: waitMs }, waitMs === undefined ? 'given up' : 'not sent')
}
