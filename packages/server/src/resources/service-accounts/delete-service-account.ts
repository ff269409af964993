import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { endMachineTokens } from '../revocations/end-tokens.ts'
import { getServiceAccount, unknownAccount } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'

/** Deletes a service account. Its token and its machine tokens die at once. Throws `not_found`. */
export async function deleteServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await removeServiceAccount(deps, await getServiceAccount(deps, id), actor)
  })
}

/** Deletes a service account in the transaction of the caller. Throws `not_found` if the account was deleted meanwhile. */
export async function removeServiceAccount(deps: Deps<Tx>, account: ServiceAccount, actor: Actor): Promise<void> {
  if (account.scopes.includes('tokens:issue')) await endMachineTokens(deps, account.id)
  if (!(await ServiceAccount.delete(deps.db, account.id))) throw unknownAccount()
  await recordEvent(deps, { event: 'service_account.deleted', actor, details: { before: presentServiceAccount(account) } })
}
