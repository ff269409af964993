import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, refuseChanged, refuseTaken } from '../../errors.ts'
import { unprovenWarnings } from '../../lib/account-record.ts'
import type { Giver } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import {
  clearable,
  id,
  indexedSearchQuery,
  list,
  MAX_LIST,
  name,
  newAppCode,
  page,
  pageQuery,
  text,
  timestamp,
} from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { accountWarnings, type Membership, present, userRecord } from '../../lib/records.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { iso } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import { isForeignKeyViolation } from '../../lib/violations.ts'
import { App } from '../../models/app.ts'
import { whereFound, withPage } from '../../models/list-query.ts'
import { Organization, type OrganizationRow } from '../../models/organization.ts'
import { type MembershipKey, MembershipRole, OrganizationMembership } from '../../models/organization-membership.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import { takeAttempt } from '../rate-limits/rate-limits.ts'
import { type PooledUser, presentUser } from '../users/present.ts'

/** In the form of an app's code. */
const slug = newAppCode

export const createOrganizationBody = z
  .strictObject({ name, slug: clearable(slug).meta({ description: 'Default: derived from the name' }) })
  .meta({ id: 'CreateOrganization' })
type CreateOrganizationInput = z.output<typeof createOrganizationBody>

export const updateOrganizationBody = z
  .strictObject({ name: name.optional(), slug: slug.optional() })
  .meta({ id: 'UpdateOrganization' })
type UpdateOrganizationInput = z.output<typeof updateOrganizationBody>

export const listOrganizationsQuery = z.strictObject({ ...pageQuery, q: indexedSearchQuery })

/** An organization as the admin API shows one. */
export const organizationDetail = z
  .object({ id, slug: z.string(), name: z.string(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: 'Organization' })

export const organizationPage = page(organizationDetail)

export const putMemberBody = z
  .strictObject({
    // Takes any text. The use-case checks all elements against the existing roles at once.
    role_codes: list(text, MAX_LIST, 1).meta({ description: 'Org-scoped roles. They replace the current ones' }),
  })
  .meta({ id: 'PutMember' })

/** A user as a member of one organization. */
const memberRecord = userRecord.extend({ role_codes: z.array(z.string()), joined_at: timestamp }).meta({ id: 'Member' })

/** A member in the answer to the admin who put it. */
export const putMemberRecord = memberRecord.extend(accountWarnings).meta({ id: 'PutMemberAnswer' })

/** A member as the org_admins of the organization see one. */
export const fellowMemberRecord = userRecord
  .pick({ id: true, email: true, first_name: true, last_name: true })
  .extend({ role_codes: z.array(z.string()) })
  .meta({ id: 'FellowMember' })

export const memberPage = page(memberRecord)
export const fellowMemberPage = page(fellowMemberRecord)
/** Throws `not_found`. */
export async function getOrganization(deps: Deps, id: string): Promise<Organization> {
  const organization = await Organization.find(deps.db, { id })
  if (!organization) throw new ApiError('not_found', { detail: 'No organization has this id' })
  return organization
}

/**
 * Makes other changes to this organization, its members and its invitations wait until this transaction ends. It does not lock
 * the row, since auto-provisioning refers to the row and must not wait. Lock the row of a user before this.
 */
export async function lockOrganization(deps: Deps<Tx>, id: string): Promise<void> {
  await lockUntilCommit(deps.db, 'organization', id)
}

/** Organizations, newest first; `q` searches slug and name. */
export async function listOrganizations(
  deps: Deps,
  request: PageRequest & { q?: string | undefined },
): Promise<Page<Organization>> {
  const query = Organization.query(deps.db)
  if (request.q) await whereFound(query, { table: Organization.tableName, columns: ['slug', 'name'] }, request.q)
  return withPage(query, request, 'organizations.id')
}

export interface StoredMembership {
  id: string
  created_at: number
  roleCodes: string[]
}

/** One user's membership of one organization. */
export async function findMembership(deps: Deps, key: MembershipKey): Promise<StoredMembership | undefined> {
  const { organizationId: organization_id, userId: user_id } = key
  const membership = await OrganizationMembership.find(deps.db, { organization_id, user_id })
  if (!membership) return undefined
  const { id, created_at } = membership
  const roles = await MembershipRole.list(deps.db, { membership_id: id }).orderBy('role_code')
  return { id, created_at, roleCodes: roles.map(({ role_code }) => role_code) }
}

/** One user's membership. Throws `not_found`. */
export async function getMembership(deps: Deps, key: MembershipKey): Promise<StoredMembership> {
  const membership = await findMembership(deps, key)
  if (!membership) throw noMember()
  return membership
}

export function noMember(): ApiError {
  return new ApiError('not_found', { detail: 'The user is not a member of this organization' })
}

/**
 * An organization, and the right by which the caller governs its members and invitations: as a `system_admin` through the admin
 * API, which has checked that, or as one of its own `org_admin`s.
 */
export interface Governed {
  organizationId: string
  by: Giver
}

/**
 * The organization, for a caller who may govern it. Reads the right of an org_admin from the database at each call, never from
 * the token. Throws `organization_admin_required` without that right, whether or not the organization exists. Throws `not_found`
 * for a system_admin.
 */
export async function getGovernedOrganization(deps: Deps, governed: Governed, actor: Actor): Promise<OrganizationRow> {
  if (governed.by === 'org_admin' && !(await isOrgAdmin(deps, governed.organizationId, actor))) {
    throw new ApiError('organization_admin_required')
  }
  return getOrganization(deps, governed.organizationId)
}

/** Like `getGovernedOrganization`, but keeps the caller's right and the organization as they are until the transaction ends. */
export async function lockGovernedOrganization(deps: Deps<Tx>, governed: Governed, actor: Actor): Promise<OrganizationRow> {
  await lockOrganization(deps, governed.organizationId)
  return getGovernedOrganization(deps, governed, actor)
}

/** How often an org_admin may write to members. The admin API has no such limit. */
const memberWrites = { count: 60, seconds: 60 }

/** Counts a write of an org_admin to members, outside of any transaction. Throws `rate_limited`. */
export async function limitMemberWrites(deps: Deps<Pool>, { by }: Governed, { caller }: Actor): Promise<void> {
  if (by === 'org_admin' && caller?.kind === 'user') await takeAttempt(deps, `member-writes:${caller.userId}`, memberWrites)
}

async function isOrgAdmin(deps: Deps, organizationId: string, { caller }: Actor): Promise<boolean> {
  return caller?.kind === 'user' && OrganizationMembership.isAdmin(deps.db, { organizationId, userId: caller.userId })
}

/** Throws `last_organization_admin` if this user is the only member who governs the organization. */
export async function assertOtherAdmin(deps: Deps, key: MembershipKey): Promise<void> {
  if (await OrganizationMembership.hasOtherAdmin(deps.db, key)) return
  throw new ApiError('last_organization_admin', { detail: 'Make another member org_admin first' })
}

/**
 * Throws `not_found` for a user who is not a member. An unknown id gets the same answer after the same work, so an org_admin
 * learns nothing about other users.
 */
export async function assertMember(deps: Deps, key: MembershipKey): Promise<void> {
  if (!(await OrganizationMembership.isMember(deps.db, key))) throw noMember()
}

const maxSlug = 80

/** The slug that a name suggests: ASCII letters and digits joined by hyphens. */
function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, maxSlug)
    .replace(/-+$/, '')
  return slug === '' ? 'organization' : slug
}

/**
 * Inserts an organization. A slug made from the name gets a suffix if it is taken; a requested slug throws
 * `organization_slug_taken`.
 */
async function insertOrganization(
  deps: Deps<Tx>,
  input: { name: string; slug?: string | null | undefined },
): Promise<OrganizationRow> {
  const now = deps.clock()
  const row = { id: newId(now), slug: input.slug ?? slugOf(input.name), name: input.name, created_at: now, updated_at: now }
  const wanted = row.slug
  while (!(await Organization.add(deps.db, row))) {
    if (input.slug != null) throw new ApiError('organization_slug_taken', { detail: slugTaken(input.slug) })
    row.slug = `${wanted}-${randomBytes(3).toString('hex')}`
  }
  return row
}

function slugTaken(slug: string): string {
  return `Another organization has the slug ${slug}`
}

const founderRole = 'org_admin'

/** Founds an organization with the user as its admin. A slug that is taken gets a suffix. */
export async function foundOrganization(
  deps: Deps<Tx>,
  input: { name: string; userId: string; appId: string | null },
  actor: Actor,
): Promise<Membership> {
  const organization = await insertOrganization(deps, { name: input.name })
  await recordEvent(deps, {
    event: 'organization.created',
    actor,
    userId: input.userId,
    appId: input.appId,
    details: { after: presentOrganization(organization) },
  })
  await addMember(deps, { organizationId: organization.id, userId: input.userId, roleCodes: [founderRole] }, actor)
  return { id: organization.id, slug: organization.slug, name: organization.name, role_codes: [founderRole] }
}

/** Creates an organization without members. Throws `organization_slug_taken`. */
export async function createOrganization(
  deps: Deps<Pool>,
  input: CreateOrganizationInput,
  actor: Actor,
): Promise<OrganizationRow> {
  return transaction(deps, async (deps) => {
    const organization = await insertOrganization(deps, input)
    await recordEvent(deps, { event: 'organization.created', actor, details: { after: presentOrganization(organization) } })
    return organization
  })
}

/**
 * Changes the name or the slug of an organization; tokens carry a new slug from their next refresh on.
 * Throws `not_found`, `organization_slug_taken`.
 */
export async function updateOrganization(
  deps: Deps<Pool>,
  id: string,
  input: UpdateOrganizationInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<OrganizationRow> {
  return transaction(deps, async (deps) => {
    await lockOrganization(deps, id)
    const current = await getOrganization(deps, id)
    refuseChanged(changedMembers(sentBack, presentOrganization(current)))
    const changes = { name: input.name ?? current.name, slug: input.slug ?? current.slug }
    if (changes.name === current.name && changes.slug === current.slug) return current
    const updated = await Organization.query(deps.db).patchAndFetchById(id, { ...changes, updated_at: deps.clock() })
    const details = { before: presentOrganization(current), after: presentOrganization(updated) }
    await recordEvent(deps, { event: 'organization.updated', actor, details })
    return updated
  }).catch(refuseTaken('organization_slug_taken', slugTaken(String(input.slug))))
}

/**
 * Deletes an organization with its invitations, once no app names it and no user is a member.
 * Throws `not_found`, `organization_in_use`.
 */
export async function deleteOrganization(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  try {
    await transaction(deps, async (deps) => {
      await lockOrganization(deps, id)
      const organization = await getOrganization(deps, id)
      await assertUnused(deps, id)
      // Memberships of deleted users do not block the deletion.
      await OrganizationMembership.list(deps.db, { organization_id: id }).whereIn('user_id', deletedUsers(deps)).delete()
      await Organization.remove(deps.db, { id })
      await recordEvent(deps, { event: 'organization.deleted', actor, details: { before: presentOrganization(organization) } })
    })
  } catch (error) {
    // An app was pointed at it, or a user auto-joined it, since we looked.
    if (isForeignKeyViolation(error)) throw inUse(error)
    throw error
  }
}

async function assertUnused(deps: Deps, id: string): Promise<void> {
  if (await App.find(deps.db, { default_organization_id: id }).select('id')) throw inUse()
  const members = OrganizationMembership.list(deps.db, { organization_id: id }).whereNotIn('user_id', deletedUsers(deps))
  if (await members.first().select('id')) throw inUse()
}

function deletedUsers(deps: Deps) {
  return User.list(deps.db, { status: 'deleted' }).select('id')
}

function inUse(cause?: unknown): ApiError {
  return new ApiError('organization_in_use', { detail: 'An app refers to it, or users are members', cause })
}

export function presentOrganization(organization: OrganizationRow): z.output<typeof organizationDetail> {
  return present(organizationDetail, organization)
}

export interface Member {
  user: PooledUser
  roleCodes: readonly string[]
  /** Milliseconds. */
  joinedAt: number
}

/** A member as the admin API shows one. */
export function presentMember(member: Member): z.output<typeof memberRecord> {
  return { ...presentUser(member.user), role_codes: [...member.roleCodes].sort(), joined_at: iso(member.joinedAt) }
}

/** A member in the answer to the admin who put it. */
export function presentPutMember(member: Member): z.output<typeof putMemberRecord> {
  return { ...presentMember(member), ...unprovenWarnings(member.user) }
}

/** A member as the org_admins of the organization see one: without pools and without the state of the account. */
export function presentFellowMember({ user, roleCodes }: Member): z.output<typeof fellowMemberRecord> {
  const { id, email, first_name, last_name } = user
  return { id, email, first_name, last_name, role_codes: [...roleCodes].sort() }
}

/**
 * Makes a user a member with these roles. Never changes an existing membership. Returns whether this call made it: of concurrent
 * calls one does, and none does once the organization is deleted.
 */
export async function addMember(
  deps: Deps<Tx>,
  input: { organizationId: string; userId: string; roleCodes: readonly string[] },
  actor: Actor,
): Promise<boolean> {
  const { organizationId, userId, roleCodes } = input
  // Keeps the organization from being deleted before the membership exists.
  if (!(await Organization.keep(deps.db, organizationId))) return false
  const now = deps.clock()
  const row = { id: newId(now), organization_id: organizationId, user_id: userId, created_at: now }
  if (!(await OrganizationMembership.add(deps.db, row))) return false
  await MembershipRole.assign(deps.db, row.id, roleCodes)
  const details = { organization_id: organizationId, before: null, after: { role_codes: roleCodes } }
  await recordEvent(deps, { event: 'membership.created', actor, userId, details })
  return true
}
