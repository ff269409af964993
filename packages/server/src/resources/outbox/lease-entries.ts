import type { Deps } from '../../deps.ts'
import { OutboxEntry, type OutboxKind, type OutboxRow } from '../../models/outbox-entry.ts'

/** Longer than any attempt takes, so a server that lives never loses an entry to another. */
const leaseMs = 60_000

export interface LeaseRequest {
  kind: OutboxKind
  /** Entries in all, and for any one destination. */
  limit: number
  perDestination: number
  /** Destinations that get nothing now. */
  busyDestinations: readonly string[]
}

/**
 * Leases what is due: the more urgent first, then in turn for each destination, then the longest waiting. One server alone has an
 * entry until its attempt is complete or the lease ends. It is one statement, so no lock is held while the entry is sent.
 */
export async function leaseEntries(deps: Deps, lease: LeaseRequest): Promise<OutboxRow[]> {
  const now = deps.clock()
  return OutboxEntry.lease(deps.db, { ...lease, now, leasedUntil: now + leaseMs })
}
