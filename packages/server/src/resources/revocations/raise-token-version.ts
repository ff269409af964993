import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { MailToken } from '../../models/mail-token.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordRevocation } from './record-revocation.ts'

/**
 * Kills a user's tokens of one app, or of all apps if `appId` is null: raises the token version, sets the floor above the old
 * tokens, and ends the sessions below it. Tokens of other apps stay alive, because their floor does not change. The session
 * `keptSessionId` goes on with the new version. Call it last in a transaction.
 */
export async function raiseTokenVersion(deps: Deps<Tx>, input: NewFloor & { keptSessionId?: string }): Promise<void> {
  const { userId, appId } = input
  const minTokenVersion = await setFloor(deps, input)
  if (input.keptSessionId !== undefined) await Session.keep(deps.db, input.keptSessionId, minTokenVersion)
  await recordRevocation(deps, { userId, appId, sessionId: null, minTokenVersion })
}

interface NewFloor {
  userId: string
  /** Null for all apps. */
  appId: string | null
  reason: string
}

/**
 * The part of `raiseTokenVersion` that may come before other writes of the transaction: it makes this service refuse tokens below
 * the floor. Returns the new floor, which you must pass to `announceFloor` as the last write.
 */
export async function setFloor(deps: Deps<Tx>, { userId, appId, reason }: NewFloor): Promise<number> {
  const version = await User.raiseTokenVersion(deps.db, userId, { ofAllApps: appId === null })
  if (version === undefined) throw new Error('there is no such user')
  await MailToken.dropPending(deps.db, userId)
  if (appId !== null) await UserApp.setFloor(deps.db, { user_id: userId, app_id: appId }, version)
  await Session.endBelow(deps.db, { userId, appId, version }, { now: deps.clock(), reason })
  return version
}

/** Tells consumers of a floor that `setFloor` set for all apps. Call it last in the same transaction. */
export async function announceFloor(deps: Deps<Tx>, userId: string, minTokenVersion: number): Promise<void> {
  await recordRevocation(deps, { userId, appId: null, sessionId: null, minTokenVersion })
}
