import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { OutboxMessage } from '../../models/outbox-message.ts'

/** Sends a finished message again, with all attempts of a new one. False if it is not finished. */
export async function requeueMessage(deps: Deps<Tx>, id: string, destination: string): Promise<boolean> {
  const isRequeued = await OutboxMessage.requeue(deps.db, id, { now: deps.clock(), destination })
  if (isRequeued) deps.afterCommit?.push(() => deps.outboxBell.ring())
  return isRequeued
}
