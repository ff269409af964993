import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'

/**
 * Reads the caller's account again, and keeps it as it is until the transaction ends. A call that shows its caller a secret which
 * outlives the session needs this: if the account is closed meanwhile, the call is refused, or the secret is found and withdrawn.
 * Lock nothing before. Throws `token_revoked`.
 */
export async function keepCaller(deps: Deps<Tx>, { caller }: Actor): Promise<void> {
  if (caller?.kind !== 'user') return
  await User.keep(deps.db, caller.userId)
  const session = await Session.findLive(deps.db, caller.sessionId)
  if (session?.status !== 'active' || session.ended_at !== null) throw new ApiError('token_revoked')
  const { user_floor, app_floor, user_access_floor, app_access_floor } = session
  const floors = [user_floor, app_floor ?? 0, user_access_floor, app_access_floor ?? 0]
  if (caller.claims.tv < Math.max(...floors)) throw new ApiError('token_revoked')
}
