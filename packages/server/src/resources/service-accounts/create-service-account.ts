import { type Deps, transaction } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { newServiceToken } from '../../lib/service-token.ts'
import { newId } from '../../lib/uuid.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { recordEvent } from '../audit/record-event.ts'
import { presentServiceAccount } from './present.ts'
import type { ServiceAccountInput } from './schema.ts'

/** A service account with the token that only its maker ever sees. */
export interface IssuedAccount {
  account: ServiceAccount
  token: string
}

/** Creates a service account (decisions 3). Throws `validation_failed` when it would be expired from the start. */
export async function createServiceAccount(deps: Deps, input: ServiceAccountInput, actor: Actor): Promise<IssuedAccount> {
  const now = deps.clock()
  if (input.expires_at != null && input.expires_at <= now)
    throw fieldError('expires_at', 'invalid_value', 'must be in the future')
  const token = newServiceToken()
  return transaction(deps, async (deps) => {
    const account = await ServiceAccount.query(deps.db).insertAndFetch({
      id: newId(now),
      name: input.name,
      service: input.service,
      scopes: [...new Set(input.scopes ?? (['permissions:register'] as const))],
      app_codes: [...new Set(input.app_codes ?? [])],
      token_hash: hashOpaqueToken(token),
      expires_at: input.expires_at ?? null,
      created_at: now,
      updated_at: now,
    })
    await recordEvent(deps, {
      event: 'service_account.created',
      actor,
      details: { after: presentServiceAccount(account) },
    })
    return { account, token }
  })
}
