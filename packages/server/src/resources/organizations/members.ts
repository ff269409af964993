import type { Pool, Tx } from '../../db/handle.ts'
import { lockAllUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError, fieldError, validationFailed } from '../../errors.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { isForeignKeyViolation } from '../../lib/violations.ts'
import { ADMIN_ROLE, type MembershipKey, MembershipRole, OrganizationMembership } from '../../models/organization-membership.ts'
import { type GivableRole, Role } from '../../models/role.ts'
import { recordEvent, recordEvents } from '../audit/record-event.ts'
import { killMembershipTokens } from '../revocations/end-tokens.ts'
import { listMemberships } from '../users/find-users.ts'
import { pooled } from '../users/present.ts'
import { getUser, lockUserRow } from '../users/users.ts'
import {
  addMember,
  assertMember,
  assertOtherAdmin,
  findMembership,
  type Governed,
  getGovernedOrganization,
  getMembership,
  limitMemberWrites,
  lockGovernedOrganization,
  lockOrganization,
  type Member,
  type StoredMembership,
} from './organizations.ts'

/** The members of an organization, newest first, without deleted users. Throws what `getGovernedOrganization` throws. */
export async function listMembers(deps: Deps, governed: Governed, request: PageRequest, actor: Actor): Promise<Page<Member>> {
  const { id } = await getGovernedOrganization(deps, governed, actor)
  const { items, nextCursor } = await OrganizationMembership.listMembers(deps.db, id, request)
  return {
    items: items.map((membership) => ({
      user: pooled(membership.user),
      roleCodes: membership.roles.map((role) => role.role_code),
      joinedAt: membership.created_at,
    })),
    nextCursor,
  }
}

interface Giving extends Pick<Governed, 'by'> {
  /** The roles that the member has. */
  held: readonly string[]
}

/**
 * The roles that a request names for a member, sorted and unique. Throws `validation_failed`, naming each code that is not an
 * org-scoped role. An org_admin may add and remove only roles that are `assignable_by` an org_admin, even for themselves.
 */
export async function validateMemberRoles(deps: Deps, codes: readonly string[], { by, held }: Giving): Promise<string[]> {
  const roles = await listGivable(deps, [...codes, ...held])
  const byCode = new Map(roles.map((role) => [role.code, role]))
  const errors = codes.flatMap((code, index): FieldError[] => {
    const message = faultOf(byCode.get(code), held.includes(code) ? SYSTEM_ADMIN : by)
    return message === undefined ? [] : [{ path: `role_codes.${index}`, code: 'invalid_value', message }]
  })
  for (const { code } of keptRoles(roles, { by, held })) {
    if (!codes.includes(code))
      errors.push({
        path: 'role_codes',
        code: 'invalid_value',
        message: `leaves out ${code}, which only a system_admin can remove`,
      })
  }
  if (errors.length > 0) throw validationFailed(errors)
  return [...new Set(codes)].sort()
}

/** The scope of each of these roles, and who may give it. Skips unknown codes. */
async function listGivable(deps: Deps, codes: readonly string[]): Promise<GivableRole[]> {
  return Role.query(deps.db)
    .whereIn('code', [...codes])
    .orderBy('code')
    .select('code', 'scope', 'assignable_by')
}

/** Throws `system_admin_required` if the member holds a role that the caller may not take away. */
async function assertRolesTakeable(deps: Deps, giving: Giving): Promise<void> {
  const [kept] = keptRoles(await listGivable(deps, giving.held), giving)
  if (kept)
    throw new ApiError('system_admin_required', { detail: `The member holds ${kept.code}, which only a system_admin can remove` })
}

/** Those of the codes that are still org-scoped roles and that the giver may still give, by name. */
export async function listGivableCodes(deps: Deps, codes: readonly string[], by: Governed['by']): Promise<string[]> {
  const roles = await listGivable(deps, codes)
  return roles.filter((role) => faultOf(role, by) === undefined).map(({ code }) => code)
}

function faultOf(role: GivableRole | undefined, by: Governed['by']): string | undefined {
  if (!role) return 'unknown role'
  if (role.scope !== 'org') return 'must be an org-scoped role'
  return isGivenBy(role, by) ? undefined : 'can only be given by a system_admin'
}

function keptRoles(roles: readonly GivableRole[], { by, held }: Giving): GivableRole[] {
  return roles.filter((role) => held.includes(role.code) && !isGivenBy(role, by))
}

function isGivenBy(role: GivableRole, by: Governed['by']): boolean {
  return by === SYSTEM_ADMIN || role.assignable_by === 'org_admin'
}

/**
 * Makes a user a member with exactly these roles, or replaces the roles of a member. An org_admin can only replace roles: a user
 * becomes a member by accepting an invitation. Access tokens with a role that is taken away are dead. Concurrent calls for one
 * organization run one at a time.
 * Throws what `lockGovernedOrganization` throws, `not_found`, `validation_failed`, and to an org_admin `last_organization_admin`
 * and `rate_limited`.
 */
export async function putMember(
  deps: Deps<Pool>,
  { userId, ...input }: Governed & { userId: string; role_codes: readonly string[] },
  actor: Actor,
): Promise<{ created: boolean; member: Member }> {
  await limitMemberWrites(deps, input, actor)
  const isForMembers = input.by === 'org_admin'
  try {
    return await transaction(deps, async (deps) => {
      if (isForMembers) {
        // Check before locking the row of the user, who may be a stranger to the organization.
        await getGovernedOrganization(deps, input, actor)
        await assertMember(deps, { ...input, userId })
      }
      await lockUserRow(deps, userId)
      const { id: organizationId } = await lockGovernedOrganization(deps, input, actor)
      if (isForMembers) await assertMember(deps, { organizationId, userId })
      const user = await getUser(deps, userId)
      if (user.status === 'deleted') throw new ApiError('not_found', { detail: 'No user has this id' })
      const held = (await findMembership(deps, { organizationId, userId }))?.roleCodes ?? []
      const roleCodes = await validateMemberRoles(deps, input.role_codes, { by: input.by, held })
      const created = await addMember(deps, { organizationId, userId, roleCodes }, actor)
      const membership = await getMembership(deps, { organizationId, userId })
      if (!created) {
        const isDemoted = membership.roleCodes.includes(ADMIN_ROLE) && !roleCodes.includes(ADMIN_ROLE)
        if (isDemoted && isForMembers) await assertOtherAdmin(deps, { organizationId, userId })
        await replaceRoles(deps, { organizationId, userId, membership, roleCodes }, actor)
      }
      return { created, member: { user, roleCodes, joinedAt: membership.created_at } }
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw fieldError('role_codes', 'invalid_value', 'names a role that was just deleted')
    throw error
  }
}

async function replaceRoles(
  deps: Deps<Tx>,
  change: { organizationId: string; userId: string; membership: StoredMembership; roleCodes: string[] },
  actor: Actor,
): Promise<void> {
  const { organizationId, userId, membership, roleCodes } = change
  // Both are sorted.
  if (roleCodes.join() === membership.roleCodes.join()) return
  await MembershipRole.remove(deps.db, { membership_id: membership.id })
  await MembershipRole.assign(deps.db, membership.id, roleCodes)
  await recordEvent(deps, {
    event: 'membership.updated',
    actor,
    userId,
    details: {
      organization_id: organizationId,
      before: { role_codes: membership.roleCodes },
      after: { role_codes: roleCodes },
    },
  })
  const hasLost = membership.roleCodes.some((code) => !roleCodes.includes(code))
  if (hasLost) await killMembershipTokens(deps, { organizationId, userId })
}

/**
 * Ends a membership. Access tokens with this organization are dead, and a refresh with it is refused. Any member may leave.
 * Throws what `lockGovernedOrganization` throws, and `not_found` if the user is not a member. Outside the admin API it also
 * throws `last_organization_admin`, `rate_limited`, and `system_admin_required` for another member who holds a role that only a
 * system_admin takes away.
 */
export async function removeMember(deps: Deps<Pool>, input: Governed & { userId: string }, actor: Actor): Promise<void> {
  await limitMemberWrites(deps, input, actor)
  const { organizationId, userId } = input
  await transaction(deps, async (deps) => {
    const membership = await lockMembership(deps, input, actor)
    if (input.by === 'org_admin' && membership.roleCodes.includes(ADMIN_ROLE)) {
      if (await OrganizationMembership.hasOtherMember(deps.db, input)) await assertOtherAdmin(deps, input)
    }
    await OrganizationMembership.remove(deps.db, { id: membership.id })
    await recordEvent(deps, {
      event: 'membership.deleted',
      actor,
      userId,
      details: { organization_id: organizationId, before: { role_codes: membership.roleCodes }, after: null },
    })
    await killMembershipTokens(deps, input)
  })
}

/** Locks the membership until the transaction ends, and checks that the caller may end it. */
async function lockMembership(deps: Deps<Tx>, input: Governed & { userId: string }, actor: Actor): Promise<StoredMembership> {
  const isOwn = actor.caller?.kind === 'user' && actor.caller.userId === input.userId
  if (input.by === 'org_admin' && isOwn) return lockOwnMembership(deps, input)
  if (input.by === 'org_admin') {
    // Check before locking the row of the user, who may be a stranger to the organization.
    await getGovernedOrganization(deps, input, actor)
    await assertMember(deps, input)
  }
  await lockUserRow(deps, input.userId)
  await lockGovernedOrganization(deps, input, actor)
  if (input.by === 'org_admin') await assertMember(deps, input)
  const membership = await getMembership(deps, input)
  await assertRolesTakeable(deps, { by: input.by, held: membership.roleCodes })
  return membership
}

/** A caller who is not a member gets the error that strangers get for any organization. */
async function lockOwnMembership(deps: Deps<Tx>, key: MembershipKey): Promise<StoredMembership> {
  await lockUserRow(deps, key.userId)
  await lockOrganization(deps, key.organizationId)
  const membership = await findMembership(deps, key)
  if (!membership) throw new ApiError('organization_admin_required')
  return membership
}

/**
 * Makes changes to the organizations of these users, and to those in `more`, wait until the transaction ends. Needs the locks of
 * the users' rows.
 */
export async function lockOrganizationsOf(
  deps: Deps<Tx>,
  userIds: readonly string[],
  more: readonly string[] = [],
): Promise<void> {
  const held = await OrganizationMembership.query(deps.db)
    .whereIn('user_id', [...userIds])
    .distinct('organization_id')
  const ids = held.map(({ organization_id }) => organization_id)
  await lockAllUntilCommit(deps.db, 'organization', [...new Set([...ids, ...more])].sort())
}

/** Ends all memberships of a user, for an account that is taken over. Returns how many. Needs `lockOrganizationsOf` before. */
export async function removeMemberships(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const memberships = await listMemberships(deps, userId)
  await OrganizationMembership.remove(deps.db, { user_id: userId })
  await recordEvents(
    deps,
    memberships.map(({ id, role_codes }) => {
      const details = { organization_id: id, before: { role_codes }, after: null }
      return { event: 'membership.deleted', actor, userId, details }
    }),
  )
  return memberships.length
}
