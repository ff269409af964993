import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { Permission } from '../../models/permission.ts'
import type { ServiceAccount } from '../../models/service-account.ts'
import { ServiceAccountPermission } from '../../models/service-account-permission.ts'
import { recordEvent } from '../audit/record-event.ts'
import { resolvePermissionIds } from '../permissions/list-permissions.ts'
import { endMachineTokens } from '../revocations/end-tokens.ts'
import { getServiceAccount, getServiceAccountForUpdate } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'

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
    const lost = (await ServiceAccountPermission.listIds(deps.db, id)).filter((held) => !kept.has(held))
    const removed = await ServiceAccountPermission.delete(deps.db, id, lost)
    return { added: await ServiceAccountPermission.insert(deps.db, id, wanted, deps.clock()), removed }
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
    const removed = await ServiceAccountPermission.delete(deps.db, id, unwanted)
    return { added: await ServiceAccountPermission.insert(deps.db, id, wanted, deps.clock()), removed }
  })
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
