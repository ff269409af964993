import type { Deps } from '../../deps.ts'
import { OutboxEntry, type OutboxKind, type OutboxRow } from '../../models/outbox-entry.ts'

/** Longer than any attempt takes, so a server that lives never finds its claim taken over. */
const leaseMs = 60_000

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
export async function claimEntries(deps: Deps, claim: Claim): Promise<OutboxRow[]> {
  const now = deps.clock()
  return OutboxEntry.claim(deps.db, { ...claim, now, leasedUntil: now + leaseMs })
}
