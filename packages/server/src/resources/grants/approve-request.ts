import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { FullRequest } from '../../models/access-request.ts'
import { decideRequest } from './decide-request.ts'
import { giveGrant } from './give-grant.ts'
import type { GrantInput } from './schema.ts'

/** Lets the user of a request into the app, by the rules of any other grant. Throws what `decideRequest` throws, and `validation_failed`. */
export async function approveRequest(deps: Deps<Pool>, id: string, input: GrantInput, actor: Actor): Promise<FullRequest> {
  return decideRequest(deps, id, async (deps, { user_id, app_id }) => {
    // Whoever is given access has no open request any more: this one is closed with it.
    await giveGrant(deps, { userId: user_id, appRef: app_id, ...input }, actor)
  })
}
