import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { announceFloors, type MachineFloor, raiseFloor } from './end-machine-tokens.ts'
import { getServiceAccount, unknownAccount } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'

/** Deletes a service account. Its token and its machine tokens die at once. Throws `not_found`. */
export async function deleteServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await announceFloors(deps, await removeServiceAccount(deps, await getServiceAccount(deps, id), actor))
  })
}

/**
 * Deletes a service account in the transaction of the caller. You must pass the floors that it returns to `announceFloors`, as
 * the last write of the transaction. Throws `not_found` if the account was deleted meanwhile.
 */
export async function removeServiceAccount(deps: Deps<Tx>, account: ServiceAccount, actor: Actor): Promise<MachineFloor[]> {
  const floors = await raiseFloor(deps, account.id)
  if (!(await ServiceAccount.delete(deps.db, account.id))) throw unknownAccount()
  await recordEvent(deps, { event: 'service_account.deleted', actor, details: { before: presentServiceAccount(account) } })
  return account.scopes.includes('tokens:issue') ? floors : []
}
