import type { OutboxRow } from '../models/outbox-message.ts'
import type { AttemptOutcome } from '../resources/outbox/outbox.ts'

// The pauses after the first failed attempt, the second, and so on. If the attempt after the last pause fails, the message fails.

export const webhookWaitsMs = [2_000, 10_000]
export const mailWaitsMs = [2_000, 10_000, 60_000, 300_000, 900_000, 3_600_000]

const longestRetryAfterMs = 60_000

/** The pause until the next attempt, in milliseconds; undefined if there is none. `Retry-After` prolongs it, up to a minute. */
export function pauseAfter(
  { waitsMs }: { waitsMs: readonly number[] },
  message: OutboxRow,
  outcome: AttemptOutcome,
): number | undefined {
  if (outcome.result !== 'failed' || outcome.isFinal) return undefined
  const waitMs = waitsMs[message.attempts]
  return waitMs === undefined ? undefined : Math.max(waitMs, Math.min(outcome.retryAfterMs ?? 0, longestRetryAfterMs))
}
