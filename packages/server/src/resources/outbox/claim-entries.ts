import { forUpdateOfUnlocked } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import type { OutboxEntry, OutboxKind } from './outbox-entry.ts'

/** Longer than any attempt takes, so a server that lives never finds its claim taken over. */
const leaseMs = 60_000
/** So many of the longest waiting are looked at for one claim. */
const lookAhead = 200

export interface Claim {
  kind: OutboxKind
  /** Entries in all, and for any one destination. */
  limit: number
  perDestination: number
  /** Destinations that get nothing now. */
  busyDestinations: readonly string[]
}

/**
 * Takes what is due, in turn for each destination and the longest waiting first: an entry goes to one server alone, until it is
 * settled or the lease ends. One statement, so nothing is held while it is sent.
 */
export async function claimEntries(deps: Deps, claim: Claim): Promise<OutboxEntry[]> {
  const { db } = deps
  const now = deps.clock()
  const due = db('outbox')
    .select('id', 'destination', 'next_attempt_at')
    .where({ kind: claim.kind })
    // As a literal: SQLite finds no partial index by a bound value.
    .whereRaw("status = 'pending'")
    .where('next_attempt_at', '<=', now)
    .whereNotIn('destination', claim.busyDestinations)
    .orderBy('next_attempt_at')
    .limit(lookAhead)
  const ranked = db('due').select(
    'id',
    db.raw('row_number() over (partition by destination order by next_attempt_at, id) as turn'),
  )
  const chosen = db('ranked').select('id').where('turn', '<=', claim.perDestination).orderBy('turn').limit(claim.limit)
  // Materialized: another plan could run the look-up, and so its locks, more than once.
  return db<OutboxEntry>('outbox')
    .withMaterialized('due', forUpdateOfUnlocked(deps.db, due))
    .with('ranked', ranked)
    .whereIn('id', chosen)
    .update({ next_attempt_at: now + leaseMs })
    .returning('*')
}
