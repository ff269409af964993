import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { ClientSecret } from '../../models/client-secret.ts'
import type { clientSecretRecord } from './schema.ts'

/** A client secret as an admin sees it. */
export function presentClientSecret({ id, created_at, last_used_at }: ClientSecret): z.output<typeof clientSecretRecord> {
  return { id, created_at: iso(created_at), last_used_at: isoOrNull(last_used_at) }
}
