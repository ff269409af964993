import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseTokenVersion } from '../revocations/raise-token-version.ts'
import { lockUser } from '../users/get-user.ts'
import { lockSelf } from './read-self.ts'

/** Ends every session of a user and kills every access token, in all apps. Throws `not_found`. */
export async function logOutEverywhere(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockUser(deps, userId)
    await endSessions(deps, userId, actor)
  })
}

/** Like `logOutEverywhere`, for the caller's own sessions. Throws `token_revoked` if this one ended in the meantime. */
export async function logOutSelf(deps: Deps<Pool>, actor: Actor & { caller: UserCaller }): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockSelf(deps, actor.caller)
    await endSessions(deps, actor.caller.userId, actor)
  })
}

async function endSessions(deps: Deps<Tx>, userId: string, actor: Actor): Promise<void> {
  await recordEvent(deps, { event: 'logout.all', actor, userId })
  await raiseTokenVersion(deps, { userId, appId: null, reason: 'logout.all' })
}
