import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import type { Membership } from '../../lib/records.ts'
import type { Invitation } from '../../models/invitation.ts'
import { insertGrant } from '../app-access/provision-access.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addMember } from '../organizations/add-member.ts'
import { lockOrganization } from '../organizations/get-organization.ts'
import { listMemberships } from '../users/list-memberships.ts'
import type { PooledUser } from '../users/present.ts'
import { verifyAddress } from '../users/verify-address.ts'
import { invalidInvitation, openInvitations } from './get-open-invitation.ts'

const fallbackRole = 'org_member'

export interface Acceptance {
  membership: Membership
  /** False for a user who was a member already: then nothing was written, and the invitation is there for somebody else. */
  joined: boolean
}

/**
 * Joins the inviting organization with the invitation's roles (contract 4.4 step 5), in the transaction of the caller, who holds the
 * lock on the user's row. Of any number of callers one spends the invitation, and nobody who finds it spent leaves a trace.
 * Throws `invalid_invitation` when it is unknown, expired, spent or for another address.
 */
export async function acceptInvitation(deps: Deps<Tx>, token: string, user: PooledUser, actor: Actor): Promise<Acceptance> {
  const { organization_id: organizationId } = await getAcceptable(deps, token, user)
  await lockOrganization(deps, organizationId)
  // As it is now that nobody else can spend it or take it back.
  const invitation = await getAcceptable(deps, token, user)
  const roleCodes = await rolesLeft(deps, invitation.role_codes)
  const joined = await addMember(deps, { organizationId, userId: user.id, roleCodes }, actor)
  if (joined) {
    await spend(deps, invitation.id, user)
    await recordEvent(deps, {
      event: 'invitation.accepted',
      actor,
      userId: user.id,
      appId: invitation.app_id,
      details: { id: invitation.id, organization_id: organizationId, role_codes: roleCodes },
    })
    if (invitation.grants_app) await giveWhatAdminsGive(deps, invitation, user, actor)
  }
  const [membership] = await listMemberships(deps, user.id, organizationId)
  return { membership: membership!, joined }
}

/** The invitation while this user may accept it. */
function acceptable(deps: Deps, user: Pick<PooledUser, 'email'>) {
  return openInvitations(deps).where((any) => any.whereNull('email').orWhere('email', user.email))
}

async function getAcceptable(deps: Deps, token: string, user: PooledUser): Promise<Invitation> {
  const invitation = await acceptable(deps, user).findOne({ token_hash: hashOpaqueToken(token) })
  if (!invitation) throw invalidInvitation()
  return invitation
}

async function spend(deps: Deps<Tx>, id: string, user: PooledUser): Promise<void> {
  const spent = await acceptable(deps, user).where({ id }).patch({ accepted_at: deps.clock(), accepted_by: user.id })
  if (spent === 0) throw invalidInvitation()
}

/** Roles may have been deleted since; whoever would come with none is a plain member. */
async function rolesLeft(deps: Deps, codes: readonly string[]): Promise<string[]> {
  const left: string[] = await deps.db('roles').whereIn('code', codes).where({ scope: 'org' }).orderBy('code').pluck('code')
  return left.length > 0 ? left : [fallbackRole]
}

/**
 * Access to the app, and a proven mailbox when the invitation was for this address. Only of a system_admin's invitation: an org_admin
 * has the token in hand as well, and could register with it under an address of somebody else.
 */
async function giveWhatAdminsGive(deps: Deps<Tx>, invitation: Invitation, user: PooledUser, actor: Actor): Promise<void> {
  if (invitation.app_id !== null) await insertGrant(deps, user.id, invitation.app_id, 'invitation', actor)
  if (invitation.email !== null) Object.assign(user, await verifyAddress(deps, user))
}
