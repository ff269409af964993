import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { Passkey } from '../../models/passkey.ts'
import type { passkeyRecord } from './schema.ts'

/** A passkey as an admin sees it. Its key and its credential id are never shown. */
export function presentPasskey({
  id,
  name,
  rp_id,
  backed_up,
  created_at,
  last_used_at,
}: Passkey): z.output<typeof passkeyRecord> {
  return { id, name, rp_id, backed_up: backed_up === 1, created_at: iso(created_at), last_used_at: isoOrNull(last_used_at) }
}
