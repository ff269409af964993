import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { keptFromDeletion } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError, fieldError, refuseChanged, refuseTaken, validationFailed } from '../../errors.ts'
import { appScopes, authorityOfServiceAccount, type ServiceScope } from '../../lib/authority.ts'
import type { Actor, ServiceCaller } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { isServiceToken, newServiceToken } from '../../lib/service-token.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { withPage } from '../../models/list-query.ts'
import { Permission, takePermissions } from '../../models/permission.ts'
import { type AccountRow, ServiceAccount, ServiceAccountApp, ServiceAccountPermission } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { resolvePermissionIds } from '../permissions/permissions.ts'
import { endMachineTokens } from '../revocations/end-tokens.ts'
import { keepCaller } from '../users/users.ts'
import type { ServiceAccountInput, serviceAccountRecord, UpdateServiceAccountInput } from './schema.ts'

/** `last_used_at` is written at most this often: a busy service would otherwise write one row at every call. */
const useResolutionMs = 60_000

/**
 * Looks up the service account that a `gsa_` token stands for. A token with a wrong checksum is refused without a query. Throws
 * `token_invalid`, also if the token was rotated or the account deleted, and `token_expired`.
 */
export async function authenticateServiceAccount(deps: Deps, token: string): Promise<ServiceCaller> {
  if (!isServiceToken(token)) throw new ApiError('token_invalid')
  const account = await ServiceAccount.findByToken(deps.db, hashOpaqueToken(token))
  if (!account) throw new ApiError('token_invalid')
  const now = deps.clock()
  if (account.expires_at !== null && account.expires_at <= now) throw new ApiError('token_expired')
  await noteUse(deps, account, now)
  const scopes: ServiceScope[] = JSON.parse(account.scopes)
  const appCodes = account.app_codes?.split(' ') ?? []
  return {
    kind: 'service_account',
    id: account.id,
    authority: authorityOfServiceAccount({ service: account.service, scopes, appCodes }),
  }
}

async function noteUse(deps: Deps, account: AccountRow, now: number): Promise<void> {
  const latest = now - useResolutionMs
  if (account.last_used_at !== null && account.last_used_at > latest) return
  // Of concurrent calls one writes.
  await ServiceAccount.query(deps.db)
    .findById(account.id)
    .where((any) => any.whereNull('last_used_at').orWhere('last_used_at', '<=', latest))
    .patch({ last_used_at: now })
}

/** A service account with its token, which only this answer shows. */
export interface IssuedAccount {
  account: ServiceAccount
  token: string
}

/**
 * Creates a service account. Throws `service_account_name_taken`. Throws `validation_failed` if it would already be expired, if
 * it names no app for a scope that is bound to apps, or if it names an app that does not exist. Throws what `keepCaller` throws.
 */
export async function createServiceAccount(deps: Deps<Pool>, input: ServiceAccountInput, actor: Actor): Promise<IssuedAccount> {
  const now = deps.clock()
  assertFuture(input.expires_at, now)
  const scopes = [...new Set(input.scopes ?? defaultScopes)]
  const appCodes = input.app_codes ?? []
  assertBound(scopes, appCodes)
  const token = newServiceToken()
  return transaction(deps, async (deps) => {
    await keepCaller(deps, actor)
    const appIds = await idsOfApps(deps, appCodes)
    const id = newId(now)
    const row = {
      id,
      name: input.name,
      service: input.service,
      scopes,
      token_hash: hashOpaqueToken(token),
      expires_at: input.expires_at ?? null,
      created_at: now,
      updated_at: now,
    }
    await ServiceAccount.insert(deps.db, row)
    await addApps(deps, id, appIds)
    const account = await getServiceAccount(deps, id)
    await recordEvent(deps, {
      event: 'service_account.created',
      actor,
      details: { after: presentServiceAccount(account) },
    })
    return { account, token }
  }).catch(refuseTaken('service_account_name_taken', `Another service account is named ${input.name}`))
}

const defaultScopes: readonly ServiceScope[] = ['permissions:register']

/** Throws `validation_failed` if a token that ends then would already be expired. */
function assertFuture(expiresAt: number | null | undefined, now: number): void {
  if (expiresAt != null && expiresAt <= now) throw fieldError('expires_at', 'invalid_value', 'must be in the future')
}

/** Throws `validation_failed` if one of the scopes is bound to apps, and there are no apps. */
function assertBound(scopes: readonly ServiceScope[], appCodes: readonly string[]): void {
  const bound = appScopes.find((scope) => scopes.includes(scope))
  if (bound && appCodes.length === 0) throw fieldError('app_codes', 'required', `is required with the scope ${bound}`)
}

/** Throws `validation_failed` and names each code that no app has. */
async function idsOfApps(deps: Deps<Tx>, codes: readonly string[]): Promise<string[]> {
  if (codes.length === 0) return []
  const named = App.query(deps.db)
    .whereIn('code', [...codes])
    .orderBy('id')
    .select('id', 'code')
  const apps = await keptFromDeletion(deps.db, named)
  const known = new Set(apps.map(({ code }) => code))
  const errors = codes.flatMap((code, index): FieldError[] =>
    known.has(code) ? [] : [{ path: `app_codes.${index}`, code: 'invalid_value', message: 'unknown app' }],
  )
  if (errors.length > 0) throw validationFailed(errors)
  return apps.map(({ id }) => id)
}

async function addApps(deps: Deps<Tx>, id: string, appIds: readonly string[]): Promise<void> {
  const rows = appIds.map((app_id) => ({ service_account_id: id, app_id }))
  await ServiceAccountApp.insertNew(deps.db, rows)
}

/** Deletes a service account. Its token and its machine tokens die at once. Throws `not_found`. */
export async function deleteServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await removeServiceAccount(deps, await getServiceAccount(deps, id), actor)
  })
}

/** Deletes a service account in the transaction of the caller. Throws `not_found` if the account was deleted meanwhile. */
export async function removeServiceAccount(deps: Deps<Tx>, account: ServiceAccount, actor: Actor): Promise<void> {
  if (account.scopes.includes('tokens:issue')) await endMachineTokens(deps, account.id)
  const deleted = await ServiceAccount.query(deps.db).deleteById(account.id)
  if (deleted === 0) throw unknownAccount()
  await recordEvent(deps, { event: 'service_account.deleted', actor, details: { before: presentServiceAccount(account) } })
}

/** Throws `not_found`. */
export async function getServiceAccount(deps: Deps, id: string): Promise<ServiceAccount> {
  const account = await ServiceAccount.full(deps.db).findById(id)
  if (!account) throw unknownAccount()
  return account
}

/** Gets a service account and locks it until the transaction ends. Throws `not_found`. */
async function getServiceAccountForUpdate(deps: Deps<Tx>, id: string): Promise<ServiceAccount> {
  const account = await ServiceAccount.findLocked(deps.db, id, 'exclusive')
  if (!account) throw unknownAccount()
  return account
}

function unknownAccount(): ApiError {
  return new ApiError('not_found', { detail: 'No service account has this id' })
}

/**
 * The service accounts whose current token a user has seen: the user created or rotated the account, and no other caller has
 * rotated it since. This is read from the audit, so accounts that are older than its oldest event are not found.
 */
export async function listKnownTo(deps: Deps, userId: string): Promise<ServiceAccount[]> {
  const shown = await AuditEvent.listByActor(deps.db, userId, ['service_account.created', 'service_account.rotated'])
  const [first] = shown
  if (!first) return []
  const known = new Map(shown.flatMap((event) => idsIn(event).map((id) => [id, event.id])))
  for (const rotation of await AuditEvent.listSince(deps.db, 'service_account.rotated', first.id)) {
    if (rotation.actor_id === userId) continue
    for (const id of idsIn(rotation)) if (rotation.id > (known.get(id) ?? rotation.id)) known.delete(id)
  }
  return ServiceAccount.full(deps.db)
    .findByIds([...known.keys()])
    .orderBy('service_accounts.id')
}

/** The id of the account that an event is about, if it names one. */
function idsIn({ details }: AuditEvent): string[] {
  const after = details?.after
  return typeof after === 'object' && after !== null && 'id' in after && typeof after.id === 'string' ? [after.id] : []
}

/** The permissions of a machine token: the account's permissions of the app's services, and all of `core`. Sorted, unique. */
export async function listMachinePermissions(
  deps: Deps,
  accountId: string,
  app: Pick<App, 'service_codes'>,
  catalog: Catalog,
): Promise<string[]> {
  const given = await ServiceAccountPermission.listCodes(deps.db, accountId, app.service_codes)
  return [...new Set([...(await catalog.listTokenPermissions(null, [])), ...given])].sort()
}

/** Service accounts, newest first. */
export async function listServiceAccounts(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<ServiceAccount>> {
  const accounts = ServiceAccount.full(deps.db)
  if (request.service !== undefined) accounts.where({ service: request.service })
  return withPage(accounts, request, 'service_accounts.id')
}

/** A service account as every answer and audit event shows one: without token or hash. */
export function presentServiceAccount(account: ServiceAccount): z.output<typeof serviceAccountRecord> {
  return {
    id: account.id,
    name: account.name,
    service: account.service,
    scopes: account.scopes,
    app_codes: account.apps.map(({ code }) => code),
    permissions: account.permissions.map(({ code }) => code),
    expires_at: isoOrNull(account.expires_at),
    last_used_at: isoOrNull(account.last_used_at),
    created_at: iso(account.created_at),
    updated_at: iso(account.updated_at),
  }
}

/**
 * Replaces the permissions of an account with these. Pruned permissions go too, so that none of them can come back. Throws
 * `not_found`, and `validation_failed` naming each unknown code.
 */
export async function replacePermissions(
  deps: Deps<Pool>,
  input: { serviceAccountId: string; permissions: readonly string[] },
  actor: Actor,
): Promise<ServiceAccount> {
  return changePermissions(deps, input.serviceAccountId, actor, async (deps, id) => {
    const wanted = await resolvePermissionIds(deps, input.permissions, 'permissions')
    const kept = new Set(wanted)
    const held = await ServiceAccountPermission.list(deps.db, { service_account_id: id }).select('permission_id')
    const lost = held.map(({ permission_id }) => permission_id).filter((held) => !kept.has(held))
    const removed = await takePermissions(ServiceAccountPermission, deps.db, { service_account_id: id }, lost)
    return { added: await addPermissions(deps, id, wanted), removed }
  })
}

/** Adds permissions to an account and removes others, pruned ones too, in one step. Throws like `replacePermissions`. */
export async function patchPermissions(
  deps: Deps<Pool>,
  input: { serviceAccountId: string; add: readonly string[]; remove: readonly string[] },
  actor: Actor,
): Promise<ServiceAccount> {
  return changePermissions(deps, input.serviceAccountId, actor, async (deps, id) => {
    const wanted = await resolvePermissionIds(deps, input.add, 'add')
    const unwanted = await Permission.listIds(deps.db, input.remove)
    const removed = await takePermissions(ServiceAccountPermission, deps.db, { service_account_id: id }, unwanted)
    return { added: await addPermissions(deps, id, wanted), removed }
  })
}

/** Returns how many the account did not have before. */
async function addPermissions(deps: Deps<Tx>, id: string, permissionIds: readonly string[]): Promise<number> {
  const created_at = deps.clock()
  const rows = permissionIds.map((permission_id) => ({ service_account_id: id, permission_id, created_at }))
  return ServiceAccountPermission.insertNew(deps.db, rows)
}

/** Changes to the same account run one at a time. If the account loses a permission, its machine tokens die. */
async function changePermissions(
  deps: Deps<Pool>,
  accountId: string,
  actor: Actor,
  change: (deps: Deps<Tx>, accountId: string) => Promise<{ added: number; removed: number }>,
): Promise<ServiceAccount> {
  return transaction(deps, async (deps) => {
    const before = await getServiceAccountForUpdate(deps, accountId)
    const { added, removed } = await change(deps, accountId)
    if (added + removed === 0) return before
    const after = await getServiceAccount(deps, accountId)
    const details = { service_account_id: accountId, before: permissionsOf(before), after: permissionsOf(after) }
    await recordEvent(deps, { event: 'service_account.permissions_changed', actor, details })
    if (removed > 0) await endMachineTokens(deps, accountId)
    return after
  })
}

function permissionsOf(account: ServiceAccount): { permissions: string[] } {
  const { permissions } = presentServiceAccount(account)
  return { permissions }
}

/**
 * Gives a service account another token. The old one and the machine tokens that it got die at once. Throws `not_found`,
 * `token_revoked`.
 */
export async function rotateServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<IssuedAccount> {
  const token = newServiceToken()
  return transaction(deps, async (deps) => {
    await keepCaller(deps, actor)
    await ServiceAccount.update(deps.db, { id }, { token_hash: hashOpaqueToken(token), updated_at: deps.clock() })
    const account = await getServiceAccount(deps, id)
    await recordEvent(deps, { event: 'service_account.rotated', actor, details: { after: presentServiceAccount(account) } })
    if (account.scopes.includes('tokens:issue')) await endMachineTokens(deps, id)
    return { account, token }
  })
}

/**
 * Changes the name, scopes, apps or end of a service account. Its token stays the same. If the account may get machine tokens for
 * less than before, those that it got die. Throws `not_found`, `service_account_name_taken`, `validation_failed`, and what
 * `keepCaller` throws.
 */
export async function updateServiceAccount(
  deps: Deps<Pool>,
  id: string,
  input: UpdateServiceAccountInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<ServiceAccount> {
  const now = deps.clock()
  return transaction(deps, async (deps) => {
    await keepCaller(deps, actor)
    // Before the lock on the account: the deletion of an app locks the app first, and its accounts then.
    const appIds = input.app_codes === undefined ? undefined : await idsOfApps(deps, input.app_codes ?? [])
    const current = await getServiceAccountForUpdate(deps, id)
    const before = presentServiceAccount(current)
    refuseChanged(changedMembers(sentBack, before))
    if (input.expires_at !== current.expires_at) assertFuture(input.expires_at, now)
    const changes = {
      name: input.name ?? current.name,
      scopes: input.scopes === undefined ? current.scopes : [...new Set(input.scopes ?? defaultScopes)],
      expires_at: input.expires_at === undefined ? current.expires_at : input.expires_at,
    }
    const appCodes = input.app_codes === undefined ? before.app_codes : [...new Set(input.app_codes ?? [])].sort()
    // An account whose apps were all deleted may still be renamed.
    if (input.scopes !== undefined || input.app_codes !== undefined) assertBound(changes.scopes, appCodes)
    const isSame = (one: readonly string[], other: readonly string[]) => one.join(' ') === other.join(' ')
    const sameApps = isSame(appCodes, before.app_codes)
    const sameRow = changes.name === current.name && changes.expires_at === current.expires_at
    if (sameApps && sameRow && isSame(changes.scopes, current.scopes)) return current
    if (appIds && !sameApps) {
      await ServiceAccountApp.remove(deps.db, { service_account_id: id })
      await addApps(deps, id, appIds)
    }
    await ServiceAccount.update(deps.db, { id }, { ...changes, updated_at: now })
    const account = await getServiceAccount(deps, id)
    const details = { service_account_id: id, before, after: presentServiceAccount(account) }
    await recordEvent(deps, { event: 'service_account.updated', actor, details })
    if (losesTokens(current, account)) await endMachineTokens(deps, id)
    return account
  }).catch(refuseTaken('service_account_name_taken', `Another service account is named ${input.name}`))
}

/** Whether machine tokens from before may be for an app, or last until a time, that the account no longer gets any for. */
function losesTokens(before: ServiceAccount, after: ServiceAccount): boolean {
  if (!before.scopes.includes('tokens:issue')) return false
  const end = ({ expires_at }: ServiceAccount) => expires_at ?? Number.POSITIVE_INFINITY
  const kept = new Set(after.apps.map(({ code }) => code))
  return !after.scopes.includes('tokens:issue') || end(after) < end(before) || before.apps.some(({ code }) => !kept.has(code))
}
