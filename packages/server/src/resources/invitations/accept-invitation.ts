import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { only } from '../../lib/only.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import type { Membership } from '../../lib/records.ts'
import { Invitation } from '../../models/invitation.ts'
import { recordEvent } from '../audit/record-event.ts'
import { insertGrant } from '../grants/provision-user.ts'
import { addMember } from '../organizations/add-member.ts'
import { lockOrganization } from '../organizations/get-organization.ts'
import { listGivableCodes } from '../organizations/validate-member-roles.ts'
import { listMemberships } from '../users/list-memberships.ts'
import type { PooledUser } from '../users/present.ts'
import { verifyAddress } from '../users/verify-address.ts'
import { invalidInvitation } from './get-open-invitation.ts'

const fallbackRole = 'org_member'

export interface Acceptance {
  membership: Membership
  /** The user as it is now: accepting may have verified the address. */
  user: PooledUser
  /** False for a user who was a member already: then nothing was written, and the invitation is there for somebody else. */
  joined: boolean
}

/**
 * Joins the inviting organization with the invitation's roles, in the transaction of the caller, who holds the
 * lock on the user's row. Of any number of callers one spends the invitation, and nobody who finds it spent leaves a trace.
 * Throws `invalid_invitation` when it is unknown, expired, spent or for another address.
 */
export async function acceptInvitation(deps: Deps<Tx>, token: string, user: PooledUser, actor: Actor): Promise<Acceptance> {
  const { organization_id: organizationId } = await getAcceptableInvitation(deps, token, user)
  await lockOrganization(deps, organizationId)
  // As it is now that nobody else can spend it or take it back.
  const invitation = await getAcceptableInvitation(deps, token, user)
  const roleCodes = await rolesLeft(deps, invitation)
  const joined = await addMember(deps, { organizationId, userId: user.id, roleCodes }, actor)
  if (joined) {
    if (!(await Invitation.spend(deps.db, invitation.id, user, deps.clock()))) throw invalidInvitation()
    await recordEvent(deps, {
      event: 'invitation.accepted',
      actor,
      userId: user.id,
      appId: invitation.app_id,
      details: { id: invitation.id, organization_id: organizationId, role_codes: roleCodes },
    })
  }
  const givesMore = joined && invitation.grants_app
  const accepted = givesMore ? await giveWhatAdminsGive(deps, invitation, user, actor) : user
  return { membership: only(await listMemberships(deps, user.id, organizationId)), user: accepted, joined }
}

/** The invitation while the holder of the address may accept it. Throws `invalid_invitation`. */
export async function getAcceptableInvitation(deps: Deps, token: string, { email }: { email: string }): Promise<Invitation> {
  const now = deps.clock()
  const invitation = await Invitation.findAcceptable(deps.db, hashOpaqueToken(token), { email, now })
  if (!invitation) throw invalidInvitation()
  return invitation
}

/** Roles may have been deleted since, or withdrawn from org_admins; whoever would come with none is a plain member. */
async function rolesLeft(deps: Deps, { role_codes, grants_app }: Invitation): Promise<string[]> {
  const left = await listGivableCodes(deps, role_codes, grants_app ? 'system_admin' : 'org_admin')
  return left.length > 0 ? left : [fallbackRole]
}

/**
 * Access to the app, and a proven mailbox when the invitation was for this address. Only of a system_admin's invitation: an org_admin
 * has the token in hand as well, and could register with it under an address of somebody else. Returns the user as it is then.
 */
async function giveWhatAdminsGive(deps: Deps<Tx>, invitation: Invitation, user: PooledUser, actor: Actor): Promise<PooledUser> {
  const { app_id: appId, invited_by: grantedBy } = invitation
  if (appId !== null) await insertGrant(deps, { userId: user.id, appId, via: 'invitation', grantedBy }, actor)
  return invitation.email === null ? user : verifyAddress(deps, user)
}
