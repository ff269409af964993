import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { type Attempt, takeAttempts } from '../rate-limits/take-attempt.ts'
import { limitUser } from '../rate-limits/take-by-address.ts'
import { getUser } from '../users/get-user.ts'

/**
 * All org_admins of an organization together may send this many times the limit of one: enough for a small team, while an
 * organization full of them stays limited.
 */
const organizationFactor = 4

interface InvitationByMember {
  organizationId: string
  caller: UserCaller
  isMailed: boolean
}

/**
 * Counts an invitation by an org_admin against the limits of the caller and of the organization. The caller's address must be
 * proven, since anybody can found an organization and mail strangers through it. A system_admin is not limited. Returns the
 * attempts; give them back if no invitation is made. Throws `email_unverified`, `rate_limited`.
 */
export async function takeInvitation(deps: Deps<Pool>, invitation: InvitationByMember): Promise<Attempt[]> {
  const { organizationId, caller, isMailed } = invitation
  if (caller.authority.refuseAdministration() === undefined) return []
  if (!hasProvenAddress(await getUser(deps, caller.userId)))
    throw new ApiError('email_unverified', { detail: 'Verify your address before you invite others' })
  if (isMailed) await limitUser(deps, caller)
  const limit = deps.config.invitationLimit
  return takeAttempts(deps, [
    [`invitations:user:${caller.userId}`, limit],
    [`invitations:organization:${organizationId}`, limit && { ...limit, count: limit.count * organizationFactor }],
  ])
}
