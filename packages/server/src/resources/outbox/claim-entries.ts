import { isPostgres } from '../../db/knex.ts'
import type { Deps } from '../../deps.ts'
import type { OutboxEntry, OutboxKind } from './entry.ts'

/** Longer than any attempt takes, so a server that lives never finds its claim taken over. */
const leaseMs = 60_000

export interface Claim {
  limit: number
  /** Kinds and destinations that have as many attempts under way as they may. */
  busyKinds: readonly OutboxKind[]
  busyDestinations: readonly string[]
}

/** Takes what is due, the longest waiting first: each entry goes to one server alone, until it is settled or the lease ends. */
export async function claimEntries(deps: Deps, { limit, busyKinds, busyDestinations }: Claim): Promise<OutboxEntry[]> {
  const now = deps.clock()
  const due = deps
    .db('outbox')
    .select('id')
    .where({ status: 'pending' })
    .where('next_attempt_at', '<=', now)
    .whereNotIn('kind', busyKinds)
    .whereNotIn('destination', [...new Set(busyDestinations)])
    .orderBy('next_attempt_at')
    .limit(limit)
  if (isPostgres(deps.db)) due.forUpdate().skipLocked()
  return deps
    .db<OutboxEntry>('outbox')
    .whereIn('id', due)
    .update({ next_attempt_at: now + leaseMs })
    .returning('*')
}
