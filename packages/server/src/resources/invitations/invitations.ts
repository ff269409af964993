import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor, OwnCaller, UserCaller } from '../../lib/caller.ts'
import { only } from '../../lib/collections.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import type { Membership, Stored } from '../../lib/records.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { type FullInvitation, Invitation } from '../../models/invitation.ts'
import { withPage } from '../../models/list-query.ts'
import { recordEvent, recordEvents } from '../audit/record-event.ts'
import { closeAnswered } from '../grants/close-requests.ts'
import { findGrantState } from '../grants/grants.ts'
import { insertGrant } from '../grants/provision-user.ts'
import { addInvitationMail } from '../mail/compose-mail.ts'
import { listGivableCodes, validateMemberRoles } from '../organizations/members.ts'
import {
  addMember,
  type Governed,
  getGovernedOrganization,
  lockGovernedOrganization,
  lockOrganization,
} from '../organizations/organizations.ts'
import { type Attempt, giveBackAttempts, limitUser, takeAttempts } from '../rate-limits/rate-limits.ts'
import { lockOwner } from '../sessions/user-sessions.ts'
import { listMemberships, verifyAddress } from '../users/find-users.ts'
import type { PooledUser } from '../users/present.ts'
import { getUser, keepCaller } from '../users/users.ts'
import type { CreateInvitationInput, createdInvitation, invitationRecord } from './schema.ts'

const defaultLifeSeconds = 7 * 24 * 60 * 60

/**
 * Creates an invitation to an organization. Only this answer and the mail to the address, if there is one, contain the token; the
 * database stores its hash. Throws what `keepCaller` and `lockGovernedOrganization` throw, `validation_failed`, and to an org_admin
 * what `takeInvitation` throws.
 */
export async function createInvitation(
  deps: Deps<Pool>,
  input: Governed & CreateInvitationInput,
  actor: Actor,
): Promise<z.output<typeof createdInvitation>> {
  const { organizationId, by } = input
  if (by === SYSTEM_ADMIN || actor.caller?.kind !== 'user' || actor.caller.sessionId === null)
    return insertInvitation(deps, input, actor)
  await getGovernedOrganization(deps, { organizationId, by }, actor)
  const attempts = await takeInvitation(deps, { organizationId, caller: actor.caller, isMailed: input.email != null })
  try {
    return await insertInvitation(deps, input, actor)
  } catch (error) {
    await giveBackAttempts(deps, attempts)
    throw error
  }
}

async function insertInvitation(
  deps: Deps<Pool>,
  { organizationId, by, ...input }: Governed & CreateInvitationInput,
  actor: Actor,
): Promise<z.output<typeof createdInvitation>> {
  const token = newOpaqueToken(TOKEN_PREFIXES.invitation)
  return transaction(deps, async (deps) => {
    await keepCaller(deps, actor)
    await lockGovernedOrganization(deps, { organizationId, by }, actor)
    const roleCodes = await validateMemberRoles(deps, input.role_codes, { by, held: [] })
    const app = input.app_code == null ? null : await getInvitingApp(deps, input.app_code)
    const now = deps.clock()
    const invitation = {
      id: newId(now),
      organization_id: organizationId,
      email: input.email ?? null,
      role_codes: roleCodes,
      grants_app: by === SYSTEM_ADMIN,
      invited_by: actor.caller?.kind === 'user' ? actor.caller.userId : null,
      created_at: now,
      expires_at: now + (input.expires_in_seconds ?? defaultLifeSeconds) * 1000,
      accepted_at: null,
      accepted_by: null,
    }
    await Invitation.insert(deps.db, { ...invitation, token_hash: hashOpaqueToken(token), app_id: app?.id ?? null })
    const { id, email } = invitation
    if (email !== null) await addInvitationMail(deps, { id, email, appId: app?.id ?? null, token }, actor.origin)
    const presented = presentInvitation({ ...invitation, app }, now)
    await recordEvent(deps, { event: 'invitation.created', actor, appId: app?.id ?? null, details: { after: presented } })
    return { ...presented, token, code: token }
  })
}

async function getInvitingApp(deps: Deps, code: string): Promise<Pick<App, 'id' | 'code'>> {
  const app = await App.find(deps.db, { code }).select('id', 'code')
  if (!app) throw fieldError('app_code', 'invalid_value', 'unknown app')
  return app
}

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
async function takeInvitation(deps: Deps<Pool>, invitation: InvitationByMember): Promise<Attempt[]> {
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

/** An invitation to the proven address of its reader. */
interface OwnInvitation {
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

/**
 * Deletes an invitation. If it was accepted, what it gave stays. Throws what `lockGovernedOrganization` throws, and `not_found`
 * if the organization has no such invitation.
 */
export async function deleteInvitation(
  deps: Deps<Pool>,
  { invitationId, ...governed }: Governed & { invitationId: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    const { id } = await lockGovernedOrganization(deps, governed, actor)
    const key = { id: invitationId, organization_id: id }
    const invitation = await Invitation.find(deps.db, key).withGraphFetched('app')
    if (!invitation) throw new ApiError('not_found', { detail: 'The organization has no invitation with this id' })
    await Invitation.remove(deps.db, key)
    await recordEvent(deps, {
      event: 'invitation.deleted',
      actor,
      appId: invitation.app_id,
      details: { before: presentInvitation(invitation, deps.clock()) },
    })
  })
}

/** The invitations of an organization, newest first, spent and expired ones too. Throws what `getGovernedOrganization` throws. */
export async function listInvitations(
  deps: Deps,
  governed: Governed,
  request: PageRequest,
  actor: Actor,
): Promise<Page<z.output<typeof invitationRecord>>> {
  const { id } = await getGovernedOrganization(deps, governed, actor)
  const invitations = Invitation.query(deps.db).where('invitations.organization_id', id).withGraphFetched('app')
  const { items, nextCursor } = await withPage(invitations, request, 'invitations.id')
  const now = deps.clock()
  return { items: items.map((invitation) => presentInvitation(invitation, now)), nextCursor }
}

/** The invitation of a token with its app and organization. Throws `invalid_invitation` when it is unknown, expired or spent. */
export async function getOpenInvitation(deps: Deps, token: string): Promise<FullInvitation> {
  const invitation = await findOpenInvitation(deps, token)
  if (!invitation) throw invalidInvitation()
  return invitation
}

/** The same. Undefined when it is unknown, expired or spent. */
export async function findOpenInvitation(deps: Deps, token: string): Promise<FullInvitation | undefined> {
  return Invitation.findOpen(deps.db, { token_hash: hashOpaqueToken(token) }, deps.clock())
}

/** The open invitations to the address of a user, newest first. None while it is not proven that the address is theirs. */
export async function listInvitationsTo(deps: Deps, user: PooledUser): Promise<FullInvitation[]> {
  return hasProvenAddress(user) ? Invitation.listFullTo(deps.db, user.email, deps.clock()) : []
}

function invalidInvitation(): ApiError {
  return new ApiError('invalid_invitation', { detail: 'The invitation is unknown, expired, used or for another address' })
}

/**
 * Accepts an invitation for a signed-in user. It reads the session again under the lock of the user's row: if the account was
 * taken over meanwhile, its session has ended and the call is refused. Throws `token_revoked`, `invalid_invitation`, and
 * `already_member`, which leaves the invitation unspent and the membership as it is.
 */
export async function joinOrganization(
  deps: Deps<Pool>,
  token: string | OwnInvitation,
  actor: Actor & { caller: OwnCaller },
): Promise<Membership> {
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    const user = await getUser(deps, actor.caller.userId)
    const { membership, joined } = await acceptInvitation(deps, token, user, actor)
    if (!joined) throw new ApiError('already_member', { detail: 'The invitation was not used, and the roles did not change' })
    return membership
  })
}

/** Deletes all invitations that a user sent and that were not accepted. Returns how many. */
export async function removeSentInvitations(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const sent = () => Invitation.list(deps.db, { invited_by: userId, accepted_at: null })
  const invitations = await sent().withGraphFetched('app')
  await sent().delete()
  return recordRemovals(deps, invitations, actor)
}

/** Deletes all open invitations to an address. Returns how many. */
export async function removeInvitationsTo(deps: Deps<Tx>, email: string, actor: Actor): Promise<number> {
  const open = Invitation.list(deps.db, { email, accepted_at: null }).where('expires_at', '>', deps.clock())
  const invitations = await open.withGraphFetched('app')
  const ids = invitations.map(({ id }) => id)
  await Invitation.query(deps.db).whereIn('id', ids).whereNull('accepted_at').delete()
  return recordRemovals(deps, invitations, actor)
}

async function recordRemovals(deps: Deps<Tx>, invitations: readonly Invitation[], actor: Actor): Promise<number> {
  const now = deps.clock()
  await recordEvents(
    deps,
    invitations.map((invitation) => {
      const details = { before: presentInvitation(invitation, now) }
      return { event: 'invitation.deleted', actor, appId: invitation.app_id, details }
    }),
  )
  return invitations.length
}

type InvitationFields = Omit<Stored<z.output<typeof invitationRecord>>, 'app_code' | 'status'> & {
  app?: { code: string } | null | undefined
}

/** An invitation as it stands at `now`, in milliseconds. It lacks the token, which is shown only once. */
function presentInvitation(invitation: InvitationFields, now: number): z.output<typeof invitationRecord> {
  const isPending = invitation.expires_at > now
  return {
    id: invitation.id,
    organization_id: invitation.organization_id,
    email: invitation.email,
    role_codes: invitation.role_codes,
    app_code: invitation.app?.code ?? null,
    grants_app: invitation.grants_app && invitation.app != null,
    status: invitation.accepted_at !== null ? 'accepted' : isPending ? 'pending' : 'expired',
    invited_by: invitation.invited_by,
    created_at: iso(invitation.created_at),
    expires_at: iso(invitation.expires_at),
    accepted_at: isoOrNull(invitation.accepted_at),
    accepted_by: invitation.accepted_by,
  }
}
