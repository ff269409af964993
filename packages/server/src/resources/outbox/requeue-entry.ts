import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { OutboxEntry } from '../../models/outbox-entry.ts'

/** Sends a finished entry again, with all attempts of a new one. False if it is not finished. */
export async function requeueEntry(deps: Deps<Tx>, id: string, destination: string): Promise<boolean> {
  const isRequeued = await OutboxEntry.requeue(deps.db, id, { now: deps.clock(), destination })
  if (isRequeued) deps.afterCommit?.push(() => deps.outboxBell.ring())
  return isRequeued
}
