import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { giveGrant } from './give-grant.ts'
import type { GrantOutcome } from './give-grants.ts'
import type { GrantInput } from './schema.ts'

/** Grants a user access to an app. Throws `not_found`, `validation_failed`. */
export async function putGrant(
  deps: Deps<Pool>,
  input: { userId: string; appRef: string } & GrantInput,
  actor: Actor,
): Promise<GrantOutcome> {
  return transaction(deps, (deps) => giveGrant(deps, input, actor))
}
