import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { recordRevocation } from './record-revocation.ts'

/**
 * Kills a user's tokens of one app, or of all apps without `appId`: raises the token version, sets the floor that old tokens fall
 * under, ends the sessions below it. Tokens of other apps live on, since their floor stays where it is.
 * `keptSessionId` goes on under the new version. Needs a transaction, and comes last in it.
 */
export async function raiseTokenVersion(deps: Deps<Tx>, input: NewFloor & { keptSessionId?: string }): Promise<void> {
  const { userId, appId } = input
  const minTokenVersion = await setFloor(deps, input)
  if (input.keptSessionId !== undefined) await keepSession(deps, input.keptSessionId, minTokenVersion)
  await recordRevocation(deps, { userId, appId, sessionId: null, minTokenVersion })
}

interface NewFloor {
  userId: string
  /** Null for all apps. */
  appId: string | null
  reason: string
}

/**
 * The part of `raiseTokenVersion` that may come before other writes of the transaction: this server refuses what is below the floor. Returns
 * the new floor; `announceFloor` must follow as the last write.
 */
export async function setFloor(deps: Deps<Tx>, { userId, appId, reason }: NewFloor): Promise<number> {
  const floor = appId === null ? { min_token_version: deps.db.raw('token_version + 1') } : {}
  const [bumped] = await deps
    .db('users')
    .where({ id: userId })
    .update({ token_version: deps.db.raw('token_version + 1'), ...floor })
    .returning('token_version')
  const minTokenVersion: number = bumped.token_version
  if (appId !== null)
    await deps.db('user_apps').where({ user_id: userId, app_id: appId }).update({ min_token_version: minTokenVersion })
  await deps
    .db('sessions')
    .where({ user_id: userId, ...(appId === null ? {} : { app_id: appId }) })
    .where('token_version', '<', minTokenVersion)
    .whereNull('ended_at')
    .update({ ended_at: deps.clock(), ended_reason: reason })
  return minTokenVersion
}

/** Tells consumers of a floor that `setFloor` set for all apps. Needs its transaction, and comes last in it. */
export async function announceFloor(deps: Deps<Tx>, userId: string, minTokenVersion: number): Promise<void> {
  await recordRevocation(deps, { userId, appId: null, sessionId: null, minTokenVersion })
}

/** Lifts one session over the new floor: that of somebody who changes the own password goes on. */
async function keepSession(deps: Deps<Tx>, sessionId: string, tokenVersion: number): Promise<void> {
  await deps.db('sessions').where({ id: sessionId }).update({ ended_at: null, ended_reason: null, token_version: tokenVersion })
}
