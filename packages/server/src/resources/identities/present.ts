import type { IdentityRecord } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import type { UserIdentity } from '../../models/user-identity.ts'

/** An identity with its provider, as in every answer. The subject is never shown. */
export function presentIdentity(identity: UserIdentity): IdentityRecord {
  return { id: identity.id, provider: identity.provider.code, created_at: iso(identity.created_at) }
}
