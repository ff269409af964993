import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { undoEmailChange } from '../email/change-email.ts'

/** Undoes a change of the address. Throws `invalid_token`, and `email_exists_in_pool`, which leaves the token unspent. */
export async function undoByLink(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  await undoEmailChange(deps, token, actor)
}
