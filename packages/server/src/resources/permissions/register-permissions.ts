import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, Caller } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { Permission } from '../../models/permission.ts'
import { PermissionService } from '../../models/permission-service.ts'
import { recordEvent } from '../audit/record-event.ts'
import { CORE_SERVICE } from '../catalog/list-token-permissions.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { tokenSizeMember, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { listLosses } from './list-permissions.ts'
import { type DeclaredPermission, planRegistration, type RegistrationPlan } from './plan-registration.ts'
import { assertPruneLimit, maxCodesTold, prunePermissions } from './prune-permissions.ts'
import type { RegisterPermissionsInput, registrationRecord } from './schema.ts'

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
    const plan = planRegistration(await Permission.listLive(deps.db, service), input.permissions, { prunes: !isOutdated })
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
      await PermissionService.update(deps.db, service, { revision })
    }
    if (changes) {
      await PermissionService.update(deps.db, service, { registered_at: deps.clock() })
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
  let known = await PermissionService.lock(deps.db, service)
  if (!known && create) {
    await PermissionService.insert(deps.db, { service, registered_at: deps.clock() })
    known = await PermissionService.lock(deps.db, service)
  }
  return known?.revision ?? null
}

async function assertUnowned(deps: Deps, service: string, declared: readonly DeclaredPermission[]): Promise<void> {
  const owned = await Permission.listOfOthers(
    deps.db,
    service,
    declared.map(({ code }) => code),
  )
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
