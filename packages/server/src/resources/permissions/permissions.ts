import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { forUpdate, lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError, validationFailed } from '../../errors.ts'
import type { Actor, Caller } from '../../lib/caller.ts'
import { chunksOf } from '../../lib/collections.ts'
import {
  list,
  MAX_NAME,
  MAX_PERMISSIONS,
  name,
  page,
  pageQuery,
  permissionCode,
  queryFlag,
  stableCode,
} from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { tokenSizeWarnings } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import { withPage } from '../../models/list-query.ts'
import { type LivePermission, Permission, PermissionService } from '../../models/permission.ts'
import { Role, RolePermission } from '../../models/role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { CORE_SERVICE, renewCatalog, tokenSizeMember, warnOfTokenSize } from '../catalog/catalog.ts'

const part = (form: RegExp, characters: string) => z.string().min(1).max(MAX_NAME).regex(form, `may only contain ${characters}`)

const declaredPermission = z
  .strictObject({
    code: permissionCode,
    name,
    resource: part(/^[A-Za-z0-9._*/-]+$/, 'letters, digits, . _ * / and -'),
    action: part(/^[A-Za-z0-9._*/:-]+$/, 'letters, digits, . _ * / : and -'),
  })
  .superRefine(({ code, resource, action }, context) => {
    if (code === `${resource}:${action}`) return
    context.addIssue({
      code: 'custom',
      path: ['code'],
      message: `must be ${resource}:${action}, that is, the resource and the action`,
    })
  })

const declaredPermissions = list(declaredPermission, MAX_PERMISSIONS).superRefine((permissions, context) => {
  const codes = new Set<string>()
  permissions.forEach(({ code }, index) => {
    if (codes.has(code)) context.addIssue({ code: 'custom', path: [index, 'code'], message: 'is already in the list' })
    codes.add(code)
  })
})

export const registerPermissionsBody = z
  .strictObject({
    service: stableCode,
    permissions: declaredPermissions.meta({
      description: 'All permissions of the service. An empty list prunes every permission',
    }),
    revision: z.int().min(0).optional().meta({
      description: 'Increases with each release of the list. A call with a lower one than the newest seen prunes nothing',
    }),
    max_prune: z.int().min(0).optional().meta({ description: 'If more would be pruned, nothing is changed' }),
  })
  .meta({ id: 'RegisterPermissions' })
type RegisterPermissionsInput = z.output<typeof registerPermissionsBody>

export const registerPermissionsQuery = z.strictObject({
  dry_run: queryFlag.optional().meta({ description: 'Report what would happen without writing anything' }),
})

const permissionMembers = { code: z.string(), name: z.string(), resource: z.string(), action: z.string() }

/** A permission as the admin API shows one. */
const permissionRecord = z.object({ service: z.string(), ...permissionMembers }).meta({ id: 'Permission' })

export const permissionPage = page(permissionRecord)

export const listPermissionsQuery = z.strictObject({ ...pageQuery, service: stableCode.optional() })

export const registrationRecord = z
  .object({
    service: z.string(),
    created: z.int(),
    updated: z.int().meta({ description: 'Permissions whose name changed' }),
    pruned: z.int(),
    unchanged: z.int(),
    permissions: z.array(z.object(permissionMembers)).meta({ description: 'Permissions that the service has now, by code' }),
    roles: z
      .array(
        z.object({
          code: z.string(),
          permissions: z.array(z.string()),
          user_count: z.int().meta({ description: 'Users who hold the role, including in an organization' }),
        }),
      )
      .optional()
      .meta({ description: 'With `dry_run`: the roles that would lose permissions, and which' }),
    user_count: z.int().optional().meta({ description: 'With `dry_run`: the users who hold any of these roles' }),
    ...tokenSizeWarnings,
  })
  .meta({ id: 'PermissionRegistration' })

/** The permissions that are not pruned, newest first. */
export async function listPermissions(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<Permission>> {
  const live = Permission.query(deps.db).whereNull('pruned_at')
  if (request.service !== undefined) live.where({ service: request.service })
  return withPage(live, request, 'permissions.id')
}

interface Losses {
  roles: { code: string; permissions: string[]; user_count: number }[]
  user_count: number
}

/** The roles that hold any of these permissions, and how many users hold those roles. Deleted users do not count. */
async function listLosses(deps: Deps, pruned: readonly LivePermission[]): Promise<Losses> {
  const idsOf = new Map<string, Set<string>>()
  for (const chunk of chunksOf(pruned.map(({ id }) => id)))
    for (const { role_code, permission_id } of await RolePermission.query(deps.db).whereIn('permission_id', chunk))
      idsOf.set(role_code, (idsOf.get(role_code) ?? new Set()).add(permission_id))
  const roles = [...idsOf].map(([code, ids]) => {
    const lost = pruned.filter(({ id }) => ids.has(id))
    return { code, permissions: lost.map((permission) => permission.code).sort() }
  })
  roles.sort((a, b) => (a.code < b.code ? -1 : 1))
  const codes = roles.map(({ code }) => code)
  const counted = await Role.countHolders(deps.db, codes)
  const counts = new Map(counted.map(({ role_code, n }) => [role_code, n]))
  return {
    roles: roles.map((role) => ({ ...role, user_count: counts.get(role.code) ?? 0 })),
    user_count: await Role.countAllHolders(deps.db, codes),
  }
}

/** The ids of the live permissions that a request names in this field. Throws `validation_failed` naming each unknown one. */
export async function resolvePermissionIds(deps: Deps, codes: readonly string[], field: string): Promise<string[]> {
  const idOf = new Map<string, string>()
  for (const chunk of chunksOf(codes)) {
    const live = await Permission.query(deps.db).whereIn('code', chunk).whereNull('pruned_at').select('id', 'code')
    for (const { id, code } of live) idOf.set(code, id)
  }
  const errors = codes.flatMap((code, index): FieldError[] =>
    idOf.has(code) ? [] : [{ path: `${field}.${index}`, code: 'invalid_value', message: 'unknown permission' }],
  )
  if (errors.length > 0) throw validationFailed(errors)
  return [...idOf.values()]
}

/** A permission as a service declares it. */
export type DeclaredPermission = Omit<LivePermission, 'id'>

/** The changes that make the permissions of a service match its declaration. Every list is sorted by code. */
interface RegistrationPlan {
  created: DeclaredPermission[]
  updated: DeclaredPermission[]
  unchanged: DeclaredPermission[]
  pruned: LivePermission[]
  /** The permissions of the service afterwards. */
  result: DeclaredPermission[]
}

/** Compares the permissions of a service with its declaration. Without `prunes`, permissions that it no longer declares stay. */
function planRegistration(
  live: readonly LivePermission[],
  declared: readonly DeclaredPermission[],
  { prunes }: { prunes: boolean },
): RegistrationPlan {
  const liveNames = new Map(live.map(({ code, name }) => [code, name]))
  const undeclared = listUndeclared(live, declared)
  const kept = prunes ? [] : undeclared.map(({ id: _, ...permission }) => permission)
  return {
    created: byCode(declared.filter(({ code }) => !liveNames.has(code))),
    updated: byCode(declared.filter(({ code, name }) => liveNames.has(code) && liveNames.get(code) !== name)),
    unchanged: byCode(declared.filter(({ code, name }) => liveNames.get(code) === name)),
    pruned: prunes ? undeclared : [],
    result: byCode([...declared, ...kept]),
  }
}

function byCode<T extends { code: string }>(permissions: readonly T[]): T[] {
  return [...permissions].sort((a, b) => (a.code < b.code ? -1 : 1))
}

/** An error names at most this many codes. */
const maxCodesTold = 20

/** The permissions of a service that it no longer declares, by code. */
function listUndeclared<P extends { code: string }>(live: readonly P[], declared: readonly { code: string }[]): P[] {
  const declaredCodes = new Set(declared.map(({ code }) => code))
  return live.filter(({ code }) => !declaredCodes.has(code)).sort((a, b) => (a.code < b.code ? -1 : 1))
}

/** Throws `prune_limit` if a registration would prune more permissions than it allows. */
function assertPruneLimit(pruned: readonly LivePermission[], limit: number | undefined): void {
  if (limit === undefined || pruned.length <= limit) return
  const named = pruned.slice(0, maxCodesTold).map(({ code }) => code)
  throw new ApiError('prune_limit', {
    detail: `${pruned.length} permissions would be pruned, but max_prune is ${limit}: ${named.join(', ')}`,
  })
}

/** Leaves tombstones: a pruned permission has no effect, and keeps its roles in case the service declares it again. */
async function prunePermissions(deps: Deps<Tx>, pruned: readonly LivePermission[]): Promise<void> {
  const now = deps.clock()
  for (const chunk of chunksOf(pruned.map(({ id }) => id)))
    await Permission.query(deps.db).whereIn('id', chunk).patch({ pruned_at: now, updated_at: now })
}

/** An audit event lists at most this many codes of each kind. Its counts are complete. */
const maxCodesAudited = 200

/**
 * Makes the permissions of a service match its declaration: inserts new codes, updates names, and prunes codes that are no longer
 * declared. Registrations for the same service run one at a time, so the result is always the whole list of one of them. A call
 * with a lower `revision` than the newest seen prunes nothing and does everything else.
 *
 * A pruned permission stays as a tombstone. It no longer owns its code but keeps its roles, so it works again when the same
 * service declares the code again, as two releases do in turn during a rolling deployment.
 *
 * Throws `service_reserved`, `service_mismatch`, `prune_limit`, `permission_owned_by_other_service`.
 */
export async function registerPermissions(
  deps: Deps<Pool>,
  { dryRun, ...input }: RegisterPermissionsInput & { dryRun: boolean },
  actor: Actor & { caller: Caller },
): Promise<z.output<typeof registrationRecord>> {
  const { service, revision } = input
  assertMayRegister(actor.caller, service)
  const answer = await transaction(deps, async (deps) => {
    const newest = await lockService(deps, service, { create: !dryRun })
    const isOutdated = revision !== undefined && newest !== null && revision < newest
    const plan = planRegistration(await listLive(deps, service), input.permissions, { prunes: !isOutdated })
    assertPruneLimit(plan.pruned, input.max_prune)

    const written = [...plan.created, ...plan.updated]
    const changes = written.length > 0 || plan.pruned.length > 0
    // The check below is certain only while no other service can take a code or release it.
    if (changes) await lockUntilCommit(deps.db, 'permission_codes')
    await assertUnowned(deps, service, plan.created)

    const answer = { service, ...countsOf(plan), permissions: plan.result }
    if (dryRun) return { ...answer, ...(await listLosses(deps, plan.pruned)) }

    if (changes) await renewCatalog(deps)
    await prunePermissions(deps, plan.pruned)
    await write(deps, service, written)
    if (revision !== undefined && (newest === null || revision > newest)) {
      await PermissionService.update(deps.db, { service }, { revision })
    }
    if (changes) {
      await PermissionService.update(deps.db, { service }, { registered_at: deps.clock() })
      const details = { service, revision: revision ?? null, ...countsOf(plan), codes: codesOf(plan) }
      await recordEvent(deps, { event: 'permissions.registered', actor, details })
    }
    return answer
  })
  return { ...answer, ...tokenSizeMember(await warnOfTokens(deps, answer)) }
}

/** Warns of apps that list the service, as if the permissions of this call were written, also in a dry run. */
function warnOfTokens(deps: Deps, { service, permissions }: { service: string; permissions: readonly DeclaredPermission[] }) {
  const characters = permissions.reduce((total, { code }) => total + code.length, 0)
  const planned = { service, count: permissions.length, characters }
  return warnOfTokenSize(deps, ({ service_codes }) => service_codes.includes(service), planned)
}

/**
 * A service account registers for its own service, a system_admin for any. No caller registers built-in permissions. Throws
 * `service_reserved`, `service_mismatch`, and what `refusePermissionsOf` gives.
 */
export function assertMayRegister(caller: Caller, service: string): void {
  if (service === CORE_SERVICE) throw new ApiError('service_reserved', { detail: `The service ${CORE_SERVICE} is built in` })
  const refusal = caller.authority.refusePermissionsOf(service)
  if (refusal) throw new ApiError(refusal.code, refusal)
}

/** Makes other registrations for this service wait until this transaction ends. Returns the newest revision seen, or null. */
async function lockService(deps: Deps<Tx>, service: string, { create }: { create: boolean }): Promise<number | null> {
  const lock = () => forUpdate(deps.db, PermissionService.query(deps.db).findById(service))
  let known = await lock()
  if (!known && create) {
    await PermissionService.insertNew(deps.db, [{ service, registered_at: deps.clock() }])
    known = await lock()
  }
  return known?.revision ?? null
}

async function listLive(deps: Deps, service: string): Promise<LivePermission[]> {
  const live = Permission.list(deps.db, { service }).whereNull('pruned_at')
  return live.select('id', 'code', 'name', 'resource', 'action')
}

async function assertUnowned(deps: Deps, service: string, declared: readonly DeclaredPermission[]): Promise<void> {
  const owned: Permission[] = []
  for (const chunk of chunksOf(declared.map(({ code }) => code))) {
    const others = Permission.query(deps.db).whereIn('code', chunk).whereNull('pruned_at').whereNot({ service })
    owned.push(...(await others.orderBy('code').select('code', 'service')))
  }
  if (owned.length === 0) return
  const named = owned.slice(0, maxCodesTold).map(({ code, service }) => `${code} (${service})`)
  throw new ApiError('permission_owned_by_other_service', { detail: `Declared by another service: ${named.join(', ')}` })
}

/** Inserts permissions. Those that the service has, or had before, keep their row and with it the roles that hold them. */
async function write(deps: Deps<Tx>, service: string, declared: readonly DeclaredPermission[]): Promise<void> {
  const now = deps.clock()
  const rows = declared.map(({ code, name, resource, action }) => {
    return { id: newId(now), service, code, name, resource, action, pruned_at: null, created_at: now, updated_at: now }
  })
  await Permission.save(deps.db, rows)
}

function countsOf({ created, updated, pruned, unchanged }: RegistrationPlan) {
  return { created: created.length, updated: updated.length, pruned: pruned.length, unchanged: unchanged.length }
}

function codesOf({ created, updated, pruned }: RegistrationPlan) {
  const named = (permissions: readonly DeclaredPermission[]) => permissions.slice(0, maxCodesAudited).map(({ code }) => code)
  return { created: named(created), updated: named(updated), pruned: named(pruned) }
}

/** A permission as the admin API shows one. */
export function presentPermission(
  permission: Pick<Permission, 'service' | 'code' | 'name' | 'resource' | 'action'>,
): z.output<typeof permissionRecord> {
  const { service, code, name, resource, action } = permission
  return { service, code, name, resource, action }
}
