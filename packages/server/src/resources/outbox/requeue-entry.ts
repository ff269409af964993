import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'

/** Sends a finished entry anew, with as many attempts as a new one. False when it is not finished. */
export async function requeueEntry(deps: Deps<Tx>, id: string, destination: string): Promise<boolean> {
  const due = { status: 'pending', attempts: 0, next_attempt_at: deps.clock(), finished_at: null, destination }
  const requeued = await deps.db('outbox').where({ id }).whereNot({ status: 'pending' }).update(due)
  if (requeued > 0) deps.afterCommit?.push(() => deps.outboxBell.ring())
  return requeued > 0
}
