import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { newServiceToken } from '../../lib/service-token.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { endMachineTokens } from '../revocations/end-tokens.ts'
import { keepCaller } from '../users/get-user.ts'
import type { IssuedAccount } from './create-service-account.ts'
import { getServiceAccount } from './get-service-account.ts'
import { presentServiceAccount } from './present.ts'

/**
 * Gives a service account another token. The old one and the machine tokens that it got die at once. Throws `not_found`,
 * `token_revoked`.
 */
export async function rotateServiceAccount(deps: Deps<Pool>, id: string, actor: Actor): Promise<IssuedAccount> {
  const token = newServiceToken()
  return transaction(deps, async (deps) => {
    await keepCaller(deps, actor)
    await ServiceAccount.update(deps.db, id, { token_hash: hashOpaqueToken(token), updated_at: deps.clock() })
    const account = await getServiceAccount(deps, id)
    await recordEvent(deps, { event: 'service_account.rotated', actor, details: { after: presentServiceAccount(account) } })
    if (account.scopes.includes('tokens:issue')) await endMachineTokens(deps, id)
    return { account, token }
  })
}
