import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { insertGrant } from '../../resources/app-access/provision-access.ts'
import { addMember } from '../../resources/organizations/add-member.ts'
import { listMemberships } from '../../resources/organizations/list-memberships.ts'
import { spendInvitation } from '../../resources/organizations/spend-invitation.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/** Joins the inviting organization with the invitation's roles (contract 4.4 step 5). Throws `invalid_invitation`. */
export async function acceptInvitation(deps: Deps, token: string, user: PooledUser, actor: Actor): Promise<Membership> {
  const invitation = await spendInvitation(deps, token, user)
  await addMember(deps, { organizationId: invitation.organizationId, userId: user.id, roleCodes: invitation.roleCodes })
  if (invitation.appId !== null) await insertGrant(deps, user.id, invitation.appId, 'invitation', actor)
  if (invitation.verifiesEmail && user.email_verified_at === null) {
    user.email_verified_at = deps.clock()
    await deps.db('users').where({ id: user.id }).update({ email_verified_at: user.email_verified_at })
  }
  const [membership] = await listMemberships(deps, user.id, invitation.organizationId)
  return membership!
}
