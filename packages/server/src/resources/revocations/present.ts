import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { RevocationRow } from '../../models/revocation.ts'
import type { revocationRecord } from './schema.ts'

/** A revocation as consumers read it, by poll and by stream alike. */
export function presentRevocation({
  cursor,
  user_id,
  app_id,
  session_id,
  min_tv,
  min_iat,
  at,
}: RevocationRow): z.output<typeof revocationRecord> {
  return { cursor, user_id, app_id, session_id, min_tv, ...(min_iat === null ? {} : { min_iat }), at: iso(at) }
}

/** Tells the reader of a stream that the events it knows are from another database. */
export const resetFrame = Buffer.from('event: reset\ndata: {}\n\n')

/** A revocation as a server-sent event. */
export function frameRevocation(row: RevocationRow): Buffer {
  return Buffer.from(`id: ${row.cursor}\ndata: ${JSON.stringify(presentRevocation(row))}\n\n`)
}
