import type { Deps } from '../../deps.ts'
import { type OutboxKind, outboxKinds } from './outbox-entry.ts'

/** Counting further would cost more than the number is worth. */
const countLimit = 10_000

export interface Backlog {
  kind: OutboxKind
  /** Entries still to be sent, counted to 10,000. */
  pending: number
  /** How long the oldest that is due has been so, in milliseconds; 0 when none is. */
  oldestDueMs: number
}

/** What lies in the outbox, by two steps into its index for each kind. */
export async function measureBacklog(deps: Deps): Promise<Backlog[]> {
  const now = deps.clock()
  const backlogs: Backlog[] = []
  for (const kind of outboxKinds) {
    // As a literal: SQLite finds no partial index by a bound value.
    const waiting = deps.db('outbox').where({ kind }).whereRaw("status = 'pending'").orderBy('next_attempt_at')
    const some = waiting.clone().select('next_attempt_at').limit(countLimit).as('some')
    const [counted] = await deps.db.from(some).count({ pending: '*' })
    const oldest = await waiting.clone().first('next_attempt_at')
    const oldestDueMs = oldest === undefined ? 0 : Math.max(0, now - oldest.next_attempt_at)
    backlogs.push({ kind, pending: Number(counted?.pending ?? 0), oldestDueMs })
  }
  return backlogs
}
