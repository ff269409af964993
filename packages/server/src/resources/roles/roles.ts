import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { forNoKeyUpdate, forUpdate, keptFromDeletion } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError, refuseChanged, refuseTaken } from '../../errors.ts'
import { type AccountRecord, unprovenWarnings } from '../../lib/account-record.ts'
import { adminRoles } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { beyondRole } from '../../lib/configurable.ts'
import { clearable, name, page, roleCode, text, timestamp } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { accountWarnings, present, tokenSizeWarnings } from '../../lib/records.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { App } from '../../models/app.ts'
import { withPageByName } from '../../models/list-query.ts'
import { MembershipRole } from '../../models/organization-membership.ts'
import { Permission, takePermissions } from '../../models/permission.ts'
import { Role, RolePermission } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog, type TokenSizeWarning, tokenSizeMember, warnOfTokenSize } from '../catalog/catalog.ts'
import { unknownRole } from '../names/unknown-name.ts'
import { resolvePermissionIds } from '../permissions/permissions.ts'
import { raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertAdministrable, endAccessWithoutProof } from '../users/administration.ts'
import { assertProven } from '../users/find-users.ts'
import type { PooledUser } from '../users/present.ts'
import { getUser, lockUser } from '../users/users.ts'

const scope = z.enum(['global', 'org']).meta({
  description: '`global`: held by users everywhere; `org`: held by members of an organization, only there',
})

const assignableBy = z.enum(['system_admin', 'org_admin']).meta({
  description:
    'Who may give and remove an org-scoped role: `org_admin`s in their organization, or only a `system_admin`, who always may',
})

/** The only role in tokens of service accounts. */
const reservedCode = 'service'

export const createRoleBody = z
  .strictObject({
    code: roleCode.refine((code) => code !== reservedCode, 'is reserved'),
    name,
    scope,
    description: clearable(text),
    assignable_by: assignableBy.optional(),
  })
  .meta({ id: 'CreateRole' })
type CreateRoleInput = z.output<typeof createRoleBody>

export const updateRoleBody = z
  .strictObject({
    name: name.optional(),
    description: clearable(text),
    assignable_by: assignableBy.optional(),
    scope: scope.optional().meta({ description: 'Must be the current scope: a scope never changes' }),
  })
  .meta({ id: 'UpdateRole' })
type UpdateRoleInput = z.output<typeof updateRoleBody>

const roleMembers = {
  code: z.string(),
  name: z.string(),
  scope,
  description: z.string().nullable(),
  built_in: z.boolean(),
  assignable_by: assignableBy,
}

export const roleRecord = z.object({ ...roleMembers, created_at: timestamp, updated_at: timestamp }).meta({ id: 'Role' })

export const rolePage = page(roleRecord)

export const rolePermissionList = z
  .object({ items: z.array(z.object({ code: z.string(), service: z.string() })) })
  .meta({ id: 'RolePermissions' })

/** The permissions of a role in the answer to the caller who changed them, with warnings. */
export const changedRolePermissions = rolePermissionList.extend(tokenSizeWarnings).meta({ id: 'ChangedRolePermissions' })

export const assignRoleBody = z.strictObject({ role_code: text }).meta({ id: 'AssignRole' })

const userRoleRecord = z.object({ ...roleMembers, assigned_at: timestamp }).meta({ id: 'UserRole' })

/** A role of a user in the answer to the admin who gave it, with warnings. */
export const givenUserRole = userRoleRecord.extend(accountWarnings).meta({ id: 'GivenUserRole' })

export const userRoleList = z.object({ items: z.array(userRoleRecord) })

/** Throws `not_found`. */
export async function getRole(deps: Deps, code: string): Promise<Role> {
  return known(deps, await Role.find(deps.db, { code }), code)
}

/** Gets the role and locks it. Other changes and deletions wait until the transaction ends; new references to it do not. */
async function getRoleForChange(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(deps, await forNoKeyUpdate(deps.db, Role.query(deps.db).findById(code)), code)
}

/** Gets the role and locks it. New references to it wait too, and then find it deleted. */
async function getRoleForDeletion(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(deps, await forUpdate(deps.db, Role.query(deps.db).findById(code)), code)
}

async function known(deps: Deps, role: Role | undefined, code: string): Promise<Role> {
  if (!role) throw await unknownRole(deps, code)
  return role
}

/** Roles, by code. */
export async function listRoles(deps: Deps, request: PageRequest): Promise<Page<Role>> {
  return withPageByName(Role.query(deps.db), request, 'code')
}

type HeldPermission = Pick<Permission, 'code' | 'service'>

/** The role that holds every permission without being assigned any. */
const HOLDER_OF_ALL = 'super_admin'

/** The permissions of a role that are not pruned, by code. */
export async function listRolePermissions(deps: Deps, roleCode: string): Promise<HeldPermission[]> {
  const permissions = await Permission.listHeld(deps.db, roleCode === HOLDER_OF_ALL ? 'all' : { roleCode })
  return permissions.sort((a, b) => (a.code < b.code ? -1 : 1))
}

/** A global role that a user holds, since `assignedAt`, in milliseconds. */
interface HeldRole {
  role: Role
  assignedAt: number
}

/** A user's global roles, by code. Throws `not_found`. */
export async function listUserRoles(deps: Deps, userId: string): Promise<HeldRole[]> {
  await getUser(deps, userId)
  const held = await UserRole.list(deps.db, { user_id: userId })
  const codes = held.map(({ role_code }) => role_code)
  const roles = await Role.query(deps.db).whereIn('code', codes)
  return held
    .flatMap(({ role_code, created_at }) => {
      const role = roles.find(({ code }) => code === role_code)
      return role ? [{ role, assignedAt: created_at }] : []
    })
    .sort((a, b) => (a.role.code < b.role.code ? -1 : 1))
}

/** Creates a role that holds no permission yet. Throws `role_code_taken`, `validation_failed`. */
export async function createRole(deps: Deps<Pool>, { description, ...input }: CreateRoleInput, actor: Actor): Promise<Role> {
  const now = deps.clock()
  const { scope, assignable_by = 'system_admin' } = input
  assertAssignable(scope, assignable_by)
  const stamps = { created_at: now, updated_at: now }
  const row = { ...input, assignable_by, description: description ?? null, built_in: false, ...stamps }
  return transaction(deps, async (deps) => {
    await assertWithinBounds(deps, actor, row)
    const role = await Role.query(deps.db).insertAndFetch(row)
    await recordEvent(deps, { event: 'role.created', actor, details: { after: presentRole(role) } })
    return role
  }).catch(refuseTaken('role_code_taken', `Another role has the code ${input.code}`))
}

/**
 * Changes the name or description of a role, or who gives it. The role may be built in. The scope never changes, because a global
 * role is never held in an organization. Throws `not_found`, `code_immutable`, `built_in`, `validation_failed`.
 */
export async function updateRole(
  deps: Deps<Pool>,
  code: string,
  input: UpdateRoleInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<Role> {
  return transaction(deps, async (deps) => {
    const current = await getRoleForChange(deps, code)
    refuseChanged(changedMembers(sentBack, presentRole(current)))
    if (input.scope !== undefined && input.scope !== current.scope) throw scopeImmutable(current)
    const changes = {
      name: input.name ?? current.name,
      description: input.description === undefined ? current.description : input.description,
      assignable_by: input.assignable_by ?? current.assignable_by,
    }
    assertAssignable(current.scope, changes.assignable_by)
    await assertWithinBounds(deps, actor, current, { ...current, ...changes })
    const isSame = (['name', 'description', 'assignable_by'] as const).every((field) => changes[field] === current[field])
    if (isSame) return current
    const updated = await Role.query(deps.db).patchAndFetchById(code, { ...changes, updated_at: deps.clock() })
    const details = { before: presentRole(current), after: presentRole(updated) }
    await recordEvent(deps, { event: 'role.updated', actor, details })
    return updated
  })
}

/**
 * Throws `system_admin_required` if a caller who configures within bounds may not create or change one of these, which are of one
 * role.
 */
async function assertWithinBounds(
  deps: Deps<Tx>,
  { caller }: Actor,
  ...roles: Pick<Role, 'code' | 'scope' | 'built_in' | 'assignable_by'>[]
): Promise<void> {
  if (!caller?.authority.configuresWithinBounds) return
  for (const role of roles) {
    const isNamedByApp = (await App.findByRole(deps.db, role.code)) !== undefined
    const beyond = beyondRole(role, { isNamedByApp })
    if (beyond) throw new ApiError('system_admin_required', { detail: `admin:configure does not cover ${beyond}` })
  }
}

function scopeImmutable(role: Role): ApiError {
  if (role.built_in) return new ApiError('built_in', { detail: `The scope of ${role.code} cannot be changed` })
  return fieldError('scope', 'invalid_value', 'cannot be changed')
}

/**
 * Deletes a role with its permissions, unless an app names it or a user holds it. Pending invitations do not keep it: accepting
 * one gives the remaining roles. Throws `not_found`, `built_in`, `role_in_use`.
 */
export async function deleteRole(deps: Deps<Pool>, code: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    // Check this before the lock: every registration refers to base_user, and would wait.
    const { built_in } = await getRole(deps, code)
    if (built_in) throw new ApiError('built_in', { detail: `${code} cannot be deleted` })
    const role = await getRoleForDeletion(deps, code)
    await assertUnnamed(deps, code)
    await assertUnheld(deps, code)
    await renewCatalog(deps)
    // Roles of deleted users do not keep the role.
    await UserRole.remove(deps.db, { role_code: code })
    await MembershipRole.remove(deps.db, { role_code: code })
    await Role.query(deps.db).deleteById(code)
    await recordEvent(deps, { event: 'role.deleted', actor, details: { before: presentRole(role) } })
  })
}

async function assertUnnamed(deps: Deps, code: string): Promise<void> {
  const app = await App.findByRole(deps.db, code)
  if (app) throw inUse(`The app ${app.code} refers to it`)
}

async function assertUnheld(deps: Deps, code: string): Promise<void> {
  const isGlobal = await UserRole.isHeld(deps.db, code, ['active', 'suspended'])
  const isOfMembers = await MembershipRole.hasHolder(deps.db, code)
  if (isGlobal || isOfMembers) throw inUse('Users hold it')
}

function inUse(detail: string): ApiError {
  return new ApiError('role_in_use', { detail })
}

/** The permissions that a role holds now, and warnings for the caller. */
interface ChangedPermissions {
  items: HeldPermission[]
  warnings?: TokenSizeWarning[]
}

/**
 * Replaces the permissions of a role with these. Assignments of pruned permissions end too, so that none of them can come back.
 * Throws `not_found`, `built_in`, `validation_failed` naming each unknown code.
 */
export async function replaceRolePermissions(
  deps: Deps<Pool>,
  input: { roleCode: string; permissions: readonly string[] },
  actor: Actor,
): Promise<ChangedPermissions> {
  return warned(deps, input.roleCode, actor, async (deps) => {
    const wanted = await resolvePermissionIds(deps, input.permissions, 'permissions')
    const held = await RolePermission.query(deps.db).where({ role_code: input.roleCode }).select('permission_id')
    const kept = new Set(wanted)
    const lost = held.map(({ permission_id }) => permission_id).filter((id) => !kept.has(id))
    const removed = await takePermissions(RolePermission, deps.db, { role_code: input.roleCode }, lost)
    return (await assign(deps, input.roleCode, wanted)) + removed
  })
}

/** Adds permissions to a role. Throws like `replaceRolePermissions`. */
export async function addRolePermissions(
  deps: Deps<Pool>,
  input: { roleCode: string; permissions: readonly string[] },
  actor: Actor,
): Promise<ChangedPermissions> {
  return warned(deps, input.roleCode, actor, async (deps) =>
    assign(deps, input.roleCode, await resolvePermissionIds(deps, input.permissions, 'permissions')),
  )
}

/**
 * Removes a permission from a role, even a pruned one, so that it does not come back. Throws `not_found`, also if the role does
 * not hold it, and `built_in`.
 */
export async function removeRolePermission(
  deps: Deps<Pool>,
  input: { roleCode: string; permission: string },
  actor: Actor,
): Promise<void> {
  await changeAssignments(deps, input.roleCode, actor, async (deps) => {
    const ids = await Permission.listIds(deps.db, [input.permission])
    const removed = await takePermissions(RolePermission, deps.db, { role_code: input.roleCode }, ids)
    if (removed === 0) throw new ApiError('not_found', { detail: `${input.roleCode} does not hold ${input.permission}` })
    return removed
  })
}

/** Like `changeAssignments`. Also warns of apps whose tokens carry the permissions of roles and are too long. */
async function warned(...change: Parameters<typeof changeAssignments>): Promise<ChangedPermissions> {
  const items = await changeAssignments(...change)
  const warnings = await warnOfTokenSize(change[0], ({ permission_scope }) => permission_scope === 'roles')
  return { items, ...tokenSizeMember(warnings) }
}

/** Runs a change, and audits it if it wrote any assignment. Changes to the same role run one at a time. */
async function changeAssignments(
  deps: Deps<Pool>,
  roleCode: string,
  actor: Actor,
  change: (deps: Deps<Tx>) => Promise<number>,
): Promise<HeldPermission[]> {
  return transaction(deps, async (deps) => {
    await assertWithinBounds(deps, actor, await getRoleForChange(deps, roleCode))
    if (roleCode === HOLDER_OF_ALL) throw new ApiError('built_in', { detail: `${roleCode} holds every permission` })
    const before = await listRolePermissions(deps, roleCode)
    await renewCatalog(deps)
    const written = await change(deps)
    if (written === 0) return before
    const after = await listRolePermissions(deps, roleCode)
    const details = { role_code: roleCode, before: codesOf(before), after: codesOf(after) }
    await recordEvent(deps, { event: 'role_permissions.changed', actor, details })
    return after
  })
}

/** Returns how many were not assigned before. */
async function assign(deps: Deps<Tx>, roleCode: string, permissionIds: readonly string[]): Promise<number> {
  const now = deps.clock()
  const rows = permissionIds.map((permission_id) => ({ role_code: roleCode, permission_id, created_at: now }))
  return RolePermission.insertNew(deps.db, rows)
}

function codesOf(permissions: readonly HeldPermission[]): { permissions: string[] } {
  return { permissions: permissions.map(({ code }) => code) }
}

/**
 * Roles that administer or hold every permission. An unproven account never gets one, because a stranger may have registered it.
 */
const platformRoles: readonly string[] = [...adminRoles, HOLDER_OF_ALL]

/**
 * Gives a user a global role. Tokens carry it from their next refresh on; the admin API applies it at once. `created` is false if
 * the user already held it. Throws `not_found`, also for a deleted user, `validation_failed` for an unknown or an org-scoped
 * role, and `account_unverified` for a platform role to an unproven account.
 */
export async function assignRole(
  deps: Deps<Pool>,
  input: { userId: string; role_code: string },
  actor: Actor,
): Promise<{ created: boolean; held: HeldRole; user: PooledUser }> {
  return transaction(deps, async (deps) => {
    await lockUser(deps, input.userId)
    const role = await getGlobalRole(deps, input.role_code)
    const user = await getUser(deps, input.userId)
    if (platformRoles.includes(role.code)) assertProven(user)
    const now = deps.clock()
    const key = { user_id: input.userId, role_code: role.code }
    const created = (await UserRole.insertNew(deps.db, [{ ...key, created_at: now }])) > 0
    if (created) {
      await recordEvent(deps, { event: 'role.assigned', actor, userId: input.userId, details: { role_code: role.code } })
      await endAccessWithoutProof(deps, input.userId, role.code)
    }
    const held = await UserRole.find(deps.db, key)
    return { created, user, held: { role, assignedAt: held?.created_at ?? now } }
  })
}

/** Gets a global role and keeps it from being deleted until the transaction ends. Throws `validation_failed`. */
async function getGlobalRole(deps: Deps<Tx>, code: string): Promise<Role> {
  const role = await keptFromDeletion(deps.db, Role.query(deps.db).findById(code))
  if (!role) throw fieldError('role_code', 'invalid_value', 'unknown role')
  if (role.scope !== 'global') throw fieldError('role_code', 'invalid_value', 'must be a global role')
  return role
}

/**
 * Takes a global role from a user. Access tokens that carry it die, and the next refresh brings one without it. Throws
 * `not_found`, also if the user does not hold the role, and `last_system_admin`.
 */
export async function unassignRole(deps: Deps<Pool>, input: { userId: string; roleCode: string }, actor: Actor): Promise<void> {
  const { userId, roleCode } = input
  await transaction(deps, async (deps) => {
    await lockUser(deps, userId)
    const removed = await UserRole.remove(deps.db, { user_id: userId, role_code: roleCode })
    if (removed === 0) throw new ApiError('not_found', { detail: 'The user does not hold this role' })
    if (roleCode === 'system_admin') await assertAdministrable(deps)
    await recordEvent(deps, { event: 'role.unassigned', actor, userId, details: { role_code: roleCode } })
    await raiseAccessFloor(deps, userId)
  })
}

/** Organizations cannot give global roles. Throws `validation_failed`. */
function assertAssignable(scope: Role['scope'], assignableBy: Role['assignable_by']): void {
  if (scope === 'global' && assignableBy === 'org_admin')
    throw fieldError('assignable_by', 'invalid_value', 'must be system_admin for a global role')
}

/** A role as every answer and audit event shows one. */
export function presentRole(role: Role): z.output<typeof roleRecord> {
  return present(roleRecord, role)
}

/** A global role as held by a user. */
export function presentUserRole({ role, assignedAt }: { role: Role; assignedAt: number }): z.output<typeof userRoleRecord> {
  return present(userRoleRecord, { ...role, assigned_at: assignedAt })
}

/** A role in the answer to the admin who gave it to a user. */
export function presentGivenRole(held: { role: Role; assignedAt: number }, user: AccountRecord): z.output<typeof givenUserRole> {
  return { ...presentUserRole(held), ...unprovenWarnings(user) }
}
