import type { Deps } from '../../deps.ts'
import { OutboxEntry, type OutboxKind, outboxKinds } from '../../models/outbox-entry.ts'

/** Counting further would cost more than the number is worth. */
const countLimit = 10_000

export interface Backlog {
  kind: OutboxKind
  /** Entries still to be sent, counted to 10,000. */
  pending: number
  /** How long the oldest that is due has been so, in milliseconds; 0 when none is. */
  oldestDueMs: number
}

/** What lies in the outbox, by a few steps into its index for each kind. */
export async function measureBacklog(deps: Deps): Promise<Backlog[]> {
  const now = deps.clock()
  const backlogs: Backlog[] = []
  for (const kind of outboxKinds) {
    const { pending, dueAt } = await OutboxEntry.measure(deps.db, kind, countLimit)
    const oldestDueMs = dueAt === undefined ? 0 : Math.max(0, now - dueAt)
    backlogs.push({ kind, pending, oldestDueMs })
  }
  return backlogs
}
