import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { FullRequest } from '../../models/access-request.ts'
import { decideRequest } from './decide-request.ts'
import { giveGrant } from './give-grant.ts'
import type { GrantInput } from './schema.ts'

/**
 * Grants the user of a request access to the app, by the rules of any other grant. Throws what `decideRequest` throws, and
 * `validation_failed`.
 */
export async function approveRequest(deps: Deps<Pool>, id: string, input: GrantInput, actor: Actor): Promise<FullRequest> {
  return decideRequest(deps, id, async (deps, { user_id, app_id }) => {
    // Giving the grant also closes the open request.
    await giveGrant(deps, { userId: user_id, appRef: app_id, ...input }, actor)
  })
}
