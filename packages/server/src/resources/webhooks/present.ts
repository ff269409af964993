import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { deliveryRecord } from './schema.ts'

/** A row of the outbox, without what it carries. */
export interface Delivery {
  id: string
  user_id: string | null
  name: string
  destination: string
  status: 'pending' | 'delivered' | 'failed'
  attempts: number
  next_attempt_at: number
  last_status: number | null
  last_error: string | null
  created_at: number
  finished_at: number | null
}

/** A delivery as admins see one: how it went, and nothing of what it told. */
export function presentDelivery(row: Delivery): z.output<typeof deliveryRecord> {
  return {
    id: row.id,
    webhook: row.name,
    url: row.destination,
    event: 'user.registered',
    test: row.user_id === null,
    status: row.status,
    attempts: row.attempts,
    last_status: row.last_status,
    last_error: row.last_error,
    created_at: iso(row.created_at),
    next_attempt_at: row.status === 'pending' ? iso(row.next_attempt_at) : null,
    finished_at: isoOrNull(row.finished_at),
  }
}
