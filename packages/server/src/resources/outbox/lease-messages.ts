import type { Deps } from '../../deps.ts'
import { type OutboxKind, OutboxMessage, type OutboxRow } from '../../models/outbox-message.ts'

/** Longer than any attempt takes, so a server that lives never loses a message to another. */
const leaseMs = 60_000

export interface LeaseRequest {
  kind: OutboxKind
  /** Messages in all, and for any one destination. */
  limit: number
  perDestination: number
  /** Destinations that get nothing now. */
  busyDestinations: readonly string[]
}

/**
 * Leases what is due: the more urgent first, then in turn for each destination, then the longest waiting. One server alone has an
 * message until its attempt is complete or the lease ends. It is one statement, so no lock is held while the message is sent.
 */
export async function leaseMessages(deps: Deps, lease: LeaseRequest): Promise<OutboxRow[]> {
  const now = deps.clock()
  return OutboxMessage.lease(deps.db, { ...lease, now, leasedUntil: now + leaseMs })
}
