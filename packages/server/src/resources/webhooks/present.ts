import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { DeliveryRow } from '../../models/outbox-message.ts'
import type { deliveryRecord } from './schema.ts'

/** A delivery as admins see one: its result, without its payload. */
export function presentDelivery(row: DeliveryRow): z.output<typeof deliveryRecord> {
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
