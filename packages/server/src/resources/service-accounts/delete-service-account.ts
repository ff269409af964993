import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { announceFloors, type MachineFloor, raiseFloor } from './end-machine-tokens.ts'
import { getServiceAccount, unknownAccount } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'

/** Deletes a service account; its token and the machine tokens that it got are dead from then on. Throws `not_found`. */
export async function deleteServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await announceFloors(deps, await removeServiceAccount(deps, await getServiceAccount(deps, id), actor))
  })
}

/**
 * The same in the transaction of the caller, whose last write must be `announceFloors` with what this returns. Throws `not_found` if the
 * account has gone meanwhile.
 */
export async function removeServiceAccount(deps: Deps<Tx>, account: ServiceAccount, actor: Actor): Promise<MachineFloor[]> {
  const floors = await raiseFloor(deps, account.id)
  if (!(await ServiceAccount.delete(deps.db, account.id))) throw unknownAccount()
  await recordEvent(deps, { event: 'service_account.deleted', actor, details: { before: presentServiceAccount(account) } })
  return account.scopes.includes('tokens:issue') ? floors : []
}
