import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { lockAdministrationOf } from '../users/assert-administrable.ts'
import { getUser, lockUser } from '../users/get-user.ts'
import { type GrantOutcome, giveGrants } from './give-grants.ts'
import type { GrantInput } from './schema.ts'

/** Grants one user access to an app. Throws `not_found`, `validation_failed`. */
export async function giveGrant(
  deps: Deps<Tx>,
  { userId, appRef, ...input }: { userId: string; appRef: string } & GrantInput,
  actor: Actor,
): Promise<GrantOutcome> {
  const { id } = await lockUser(deps, userId)
  if (input.expires_at != null) await lockAdministrationOf(deps, id)
  const app = await getKeptApp(deps, appRef)
  const [given] = await giveGrants(deps, { users: [await getUser(deps, id)], app, ...input }, actor)
  return given!
}
