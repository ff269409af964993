import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { endSession } from '../../resources/revocations/end-tokens.ts'

/** Ends the session of a refresh token. Never fails: with an unknown or dead token there is nothing to end. */
export async function logout(deps: Deps<Pool>, refreshToken: string, actor: Actor): Promise<void> {
  const token = await RefreshToken.findSession(deps.db, hashOpaqueToken(refreshToken))
  if (!token) return
  await transaction(deps, (deps) => endSession(deps, { sessionId: token.session_id, event: 'logout' }, actor))
}
