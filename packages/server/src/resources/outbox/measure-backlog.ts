import type { Deps } from '../../deps.ts'
import { type OutboxKind, OutboxMessage, outboxKinds } from '../../models/outbox-message.ts'

/** Counting further would cost more than the number is worth. */
const countLimit = 10_000

export interface Backlog {
  kind: OutboxKind
  /** Messages still to be sent, counted to 10,000. */
  pending: number
  /** How long the oldest due message has waited, in milliseconds. 0 if none is due. */
  oldestDueMs: number
}

/** Measures the outbox with a few index look-ups for each kind. */
export async function measureBacklog(deps: Deps): Promise<Backlog[]> {
  const now = deps.clock()
  const backlogs: Backlog[] = []
  for (const kind of outboxKinds) {
    const { pending, dueAt } = await OutboxMessage.measure(deps.db, kind, countLimit)
    const oldestDueMs = dueAt === undefined ? 0 : Math.max(0, now - dueAt)
    backlogs.push({ kind, pending, oldestDueMs })
  }
  return backlogs
}
