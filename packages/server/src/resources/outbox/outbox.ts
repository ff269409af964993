import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'
import { type OutboxKind, OutboxMessage, type OutboxRow, outboxKinds, type UnsentReason } from '../../models/outbox-message.ts'

export type NewOutboxMessage = Pick<OutboxRow, 'kind' | 'app_id' | 'user_id' | 'name' | 'destination' | 'payload'> &
  Partial<Pick<OutboxMessage, 'id' | 'priority' | 'request_id'>>

/**
 * Writes rows to send in the transaction of what they tell about: they go out if it commits, and never if it rolls back. Returns
 * the ids.
 */
export async function addToOutbox(deps: Deps<Tx>, messages: readonly NewOutboxMessage[]): Promise<string[]> {
  if (messages.length === 0) return []
  const now = deps.clock()
  const rows = messages.map((message) => ({
    id: newId(now),
    priority: 0 as const,
    request_id: null,
    ...message,
    created_at: now,
    next_attempt_at: now,
  }))
  await OutboxMessage.enqueue(deps.db, rows)
  for (const kind of new Set(rows.map(({ kind }) => kind))) deps.afterCommit?.push(() => deps.outboxBell.ring(kind))
  return rows.map(({ id }) => id)
}

/**
 * How an attempt ended. `status` is what the other side answered, where it did; `userId` is the recipient of a mail, once known.
 * `unsent`: nobody was to get anything.
 */
export type AttemptOutcome = (
  | { result: 'delivered'; status?: number }
  | { result: 'unsent'; reason: UnsentReason }
  | FailedAttempt
) & { userId?: string | null }

export interface FailedAttempt {
  result: 'failed'
  status?: number
  error: string
  isFinal?: boolean
  userId?: string | null
  retryAfterMs?: number
}

export interface Completion {
  /** Until the next attempt, in milliseconds; undefined when there is none. */
  waitMs: number | undefined
  /** Columns that are overwritten once the message is finished, unless it was given up. */
  remains?: Partial<Pick<OutboxRow, 'payload' | 'destination'>>
  /** Run in the same transaction when the message is given up, after that is written. */
  onGivenUp?: (deps: Deps<Tx>) => Promise<void>
}

/** Writes how an attempt ended. False when the message is no longer this server's: its lease ended, or the user was erased. */
export async function completeAttempt(
  deps: Deps<Pool>,
  message: OutboxRow,
  outcome: AttemptOutcome,
  completion: Completion,
): Promise<boolean> {
  const now = deps.clock()
  const isFailed = outcome.result === 'failed'
  const tally = {
    attempts: message.attempts + 1,
    last_status: outcome.result === 'unsent' ? null : (outcome.status ?? null),
    // The text of the other side is stored here. A NUL in it would fail the write, and the message would be sent for ever.
    last_error: isFailed ? outcome.error.replace(/\p{Cc}+/gu, ' ').slice(0, 500) : null,
    ...(outcome.userId != null && { user_id: outcome.userId }),
  }
  const { waitMs, remains, onGivenUp } = completion
  const isRetried = isFailed && waitMs !== undefined
  const end = isRetried
    ? ({ status: 'pending', finished_at: null, next_attempt_at: now + waitMs } as const)
    : { ...endOf(outcome, remains), finished_at: now }
  const write = (deps: Deps) => OutboxMessage.complete(deps.db, message, { ...tally, ...end })
  if (!isFailed || isRetried || !onGivenUp) return write(deps)
  return transaction(deps, async (deps) => {
    const isOurs = await write(deps)
    if (isOurs) await onGivenUp(deps)
    return isOurs
  })
}

/** What stays of a message that was given up can be sent again. */
function endOf(outcome: AttemptOutcome, remains: Completion['remains']) {
  if (outcome.result === 'failed') return { status: 'failed' as const }
  if (outcome.result === 'delivered') return { status: 'delivered' as const, ...remains }
  return { status: 'failed' as const, unsent: outcome.reason, ...remains }
}

/** Longer than any attempt takes, so a server that lives never loses a message to another. */
const leaseMs = 60_000

export interface LeaseRequest {
  kind: OutboxKind
  /** Messages in all, and for any one destination. */
  limit: number
  perDestination: number
  /** Destinations that get nothing now. */
  busyDestinations: readonly string[]
}

/**
 * Leases what is due: the more urgent first, then in turn for each destination, then the longest waiting. One server alone has an
 * message until its attempt is complete or the lease ends. It is one statement, so no lock is held while the message is sent.
 */
export async function leaseMessages(deps: Deps, lease: LeaseRequest): Promise<OutboxRow[]> {
  const now = deps.clock()
  return OutboxMessage.lease(deps.db, { ...lease, now, leasedUntil: now + leaseMs })
}

/** Counting further would cost more than the number is worth. */
const countLimit = 10_000

export interface Backlog {
  kind: OutboxKind
  /** Messages still to be sent, counted to 10,000. */
  pending: number
  /** How long the oldest of them has been waiting, retries included, in milliseconds. 0 if there is none. */
  oldestPendingMs: number
  /** How long the oldest due message has waited, in milliseconds. 0 if none is due. */
  oldestDueMs: number
}

/** Measures the outbox with a few index look-ups for each kind. */
export async function measureBacklog(deps: Deps): Promise<Backlog[]> {
  const now = deps.clock()
  const backlogs: Backlog[] = []
  for (const kind of outboxKinds) {
    const { pending, pendingSince = now, dueAt = now } = await OutboxMessage.measure(deps.db, kind, countLimit)
    backlogs.push({ kind, pending, oldestPendingMs: Math.max(0, now - pendingSince), oldestDueMs: Math.max(0, now - dueAt) })
  }
  return backlogs
}

/** Sends a finished message again, with all attempts of a new one. False if it is not finished. */
export async function requeueMessage(deps: Deps<Tx>, id: string, destination: string): Promise<boolean> {
  const isRequeued = (await OutboxMessage.requeue(deps.db, [id], { now: deps.clock(), destination })) > 0
  if (isRequeued) deps.afterCommit?.push(() => deps.outboxBell.ring())
  return isRequeued
}
