import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { confirmDeletion } from '../profile/self.ts'

/** Deletes the account of a link. Throws `invalid_token`, and `last_system_admin`, which leaves the token unspent. */
export async function deleteByLink(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  await confirmDeletion(deps, token, actor)
}
