import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getServiceAccount, unknownAccount } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'

/** Deletes a service account; its token is dead from then on. Throws `not_found`. */
export async function deleteServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const account = await getServiceAccount(deps, id)
    if (!(await ServiceAccount.delete(deps.db, id))) throw unknownAccount()
    await recordEvent(deps, { event: 'service_account.deleted', actor, details: { before: presentServiceAccount(account) } })
  })
}
