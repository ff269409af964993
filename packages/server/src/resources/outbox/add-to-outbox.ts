import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'
import { OutboxMessage, type OutboxRow } from '../../models/outbox-message.ts'

export type NewOutboxMessage = Pick<OutboxRow, 'kind' | 'app_id' | 'user_id' | 'name' | 'destination' | 'payload'> &
  Partial<Pick<OutboxMessage, 'id' | 'priority'>>

/**
 * Writes rows to send in the transaction of what they tell about: they go out if it commits, and never if it rolls back. Returns
 * the ids.
 */
export async function addToOutbox(deps: Deps<Tx>, messages: readonly NewOutboxMessage[]): Promise<string[]> {
  if (messages.length === 0) return []
  const now = deps.clock()
  const rows = messages.map((message) => ({ id: newId(now), ...message, created_at: now, next_attempt_at: now }))
  await OutboxMessage.insert(deps.db, rows)
  deps.afterCommit?.push(() => deps.outboxBell.ring())
  return rows.map(({ id }) => id)
}
