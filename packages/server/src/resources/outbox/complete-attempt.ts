import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { OutboxMessage, type OutboxRow } from '../../models/outbox-message.ts'

/** How an attempt ended. `status` is what the other side answered, where it did. */
export type AttemptOutcome = { result: 'delivered'; status?: number } | FailedAttempt

export interface FailedAttempt {
  result: 'failed'
  status?: number
  error: string
  isFinal?: boolean
  retryAfterMs?: number
}

export interface Completion {
  /** Until the next attempt, in milliseconds; undefined when there is none. */
  waitMs: number | undefined
  /** Columns that are overwritten once the message is finished. */
  remains?: Partial<Pick<OutboxRow, 'payload' | 'destination'>>
  /** Run in the same transaction when the message is given up. */
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
  const isDelivered = outcome.result === 'delivered'
  const tally = {
    attempts: message.attempts + 1,
    last_status: outcome.status ?? null,
    // The text of the other side is stored here. A NUL in it would fail the write, and the message would be sent for ever.
    last_error: isDelivered ? null : outcome.error.replace(/\p{Cc}+/gu, ' ').slice(0, 500),
  }
  const { waitMs, remains, onGivenUp } = completion
  const isRetried = !isDelivered && waitMs !== undefined
  const end = isRetried ? { next_attempt_at: now + waitMs } : { status: outcome.result, finished_at: now, ...remains }
  const write = (deps: Deps) => OutboxMessage.complete(deps.db, message, { ...tally, ...end })
  if (isDelivered || isRetried || !onGivenUp) return write(deps)
  return transaction(deps, async (deps) => {
    const isOurs = await write(deps)
    if (isOurs) await onGivenUp(deps)
    return isOurs
  })
}
