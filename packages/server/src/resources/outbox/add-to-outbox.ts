import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'
import { OutboxEntry, type OutboxRow } from '../../models/outbox-entry.ts'

export type NewOutboxEntry = Pick<OutboxRow, 'kind' | 'app_id' | 'user_id' | 'name' | 'destination' | 'payload'> &
  Partial<Pick<OutboxEntry, 'id' | 'priority'>>

/**
 * Writes rows to send in the transaction of what they tell about: they go out if it commits, and never if it rolls back. Returns
 * the ids.
 */
export async function addToOutbox(deps: Deps<Tx>, entries: readonly NewOutboxEntry[]): Promise<string[]> {
  if (entries.length === 0) return []
  const now = deps.clock()
  const rows = entries.map((entry) => ({ id: newId(now), ...entry, created_at: now, next_attempt_at: now }))
  await OutboxEntry.insert(deps.db, rows)
  deps.afterCommit?.push(() => deps.outboxBell.ring())
  return rows.map(({ id }) => id)
}
