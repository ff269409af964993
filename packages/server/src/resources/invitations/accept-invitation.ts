import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { only } from '../../lib/only.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import type { Membership } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { Invitation } from '../../models/invitation.ts'
import { recordEvent } from '../audit/record-event.ts'
import { closeAnswered } from '../grants/close-requests.ts'
import { findGrantState } from '../grants/find-grant-state.ts'
import { insertGrant } from '../grants/provision-user.ts'
import { addMember } from '../organizations/add-member.ts'
import { lockOrganization } from '../organizations/get-organization.ts'
import { listGivableCodes } from '../organizations/member-roles.ts'
import { getUser } from '../users/get-user.ts'
import { listMemberships } from '../users/list-memberships.ts'
import type { PooledUser } from '../users/present.ts'
import { verifyAddress } from '../users/verify-address.ts'
import { invalidInvitation } from './list-invitations.ts'

/** An invitation to the proven address of its reader. */
export interface OwnInvitation {
  id: string
}

const fallbackRole = 'org_member'

export interface Acceptance {
  membership: Membership
  /** The user as it is now: accepting may have verified the address. */
  user: PooledUser
  /** False if the user was already a member. Then nothing was written, and another user can still use the invitation. */
  joined: boolean
  /** The app that the invitation granted. */
  grantedAppId: string | null
  invitation: Invitation
}

/**
 * Makes the user a member of the inviting organization with the invitation's roles. Runs in the caller's transaction, which must
 * hold the lock on the user's row. Of concurrent calls, one spends the invitation and the others leave no trace.
 * Throws `invalid_invitation` if the invitation is unknown, expired, spent or for another address.
 */
export async function acceptInvitation(
  deps: Deps<Tx>,
  token: string | OwnInvitation,
  user: PooledUser,
  actor: Actor,
): Promise<Acceptance> {
  const read = () =>
    typeof token === 'string' ? getAcceptableInvitation(deps, token, user) : getOwnInvitation(deps, token, user)
  const { organization_id: organizationId } = await read()
  await lockOrganization(deps, organizationId)
  // Read it again under the lock, which keeps other requests from spending or deleting it.
  const invitation = await read()
  const roleCodes = await rolesLeft(deps, invitation)
  const joined = await addMember(deps, { organizationId, userId: user.id, roleCodes }, actor)
  if (joined) {
    if (invitation.app_id !== null && !(await App.keep(deps.db, invitation.app_id))) throw invalidInvitation()
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
  const membership = only(await listMemberships(deps, user.id, organizationId))
  return { membership, user: accepted, joined, grantedAppId: givesMore ? invitation.app_id : null, invitation }
}

/**
 * Whether an invitation lets its holder sign up at an app. Anybody can found an organization and invite, so at an app that takes
 * sign-ups by invitation only, that of an org_admin counts only while its sender may enter the app.
 */
export async function opensSignUp(
  deps: Deps,
  { grants_app, invited_by }: Pick<Invitation, 'grants_app' | 'invited_by'>,
  app: Pick<App, 'id' | 'sign_up'>,
): Promise<boolean> {
  if (grants_app || app.sign_up !== 'invitation') return true
  if (invited_by === null) return false
  const { status } = await getUser(deps, invited_by)
  return status === 'active' && (await findGrantState(deps, invited_by, app.id)).isActive
}

/** The invitation, if the holder of the address may accept it. Throws `invalid_invitation`. */
export async function getAcceptableInvitation(deps: Deps, token: string, holder: { email: string }): Promise<Invitation> {
  const invitation = await findAcceptableInvitation(deps, token, holder)
  if (!invitation) throw invalidInvitation()
  return invitation
}

/** The same for one that its reader need not hold the token of. */
async function getOwnInvitation(deps: Deps, { id }: OwnInvitation, holder: PooledUser): Promise<Invitation> {
  const { email } = holder
  const invitation = hasProvenAddress(holder) ? await Invitation.findOpen(deps.db, { id, email }, deps.clock()) : undefined
  if (!invitation) throw invalidInvitation()
  return invitation
}

/** The same. Undefined if the holder of the address may not accept it. */
export async function findAcceptableInvitation(
  deps: Deps,
  token: string,
  { email }: { email: string },
): Promise<Invitation | undefined> {
  return Invitation.findAcceptable(deps.db, hashOpaqueToken(token), { email, now: deps.clock() })
}

/** Roles may have been deleted since, or org_admins may no longer give them. If none is left, the user becomes a plain member. */
async function rolesLeft(deps: Deps, { role_codes, grants_app }: Invitation): Promise<string[]> {
  const left = await listGivableCodes(deps, role_codes, grants_app ? SYSTEM_ADMIN : 'org_admin')
  return left.length > 0 ? left : [fallbackRole]
}

/**
 * Grants the app, and marks the mailbox as proven if the invitation was for this address. Only for the invitation of a
 * system_admin: an org_admin also holds the token, and could register with it under another person's address. Returns the updated
 * user.
 */
async function giveWhatAdminsGive(deps: Deps<Tx>, invitation: Invitation, user: PooledUser, actor: Actor): Promise<PooledUser> {
  const { app_id: appId, invited_by: grantedBy } = invitation
  if (appId !== null) {
    await insertGrant(deps, { userId: user.id, appId, via: 'invitation', grantedBy }, actor)
    await closeAnswered(deps, { userIds: [user.id], decidedBy: grantedBy }, actor)
  }
  return invitation.email === null ? user : verifyAddress(deps, user)
}
