import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../../lib/access-token.ts'
import { App } from '../../models/app.ts'
import { recordRevocation } from './record-revocation.ts'

/**
 * Kills every access token of an app that was issued before now, or is being issued by a server whose clock is slightly ahead.
 * Needs a transaction. Returns the floor that you must pass to `announceCutOff`, as the last write of the transaction.
 */
export async function cutOffTokens(deps: Deps<Tx>, appId: string): Promise<number> {
  return App.raiseMinIat(deps.db, appId, { now: deps.clock(), leadSeconds: CLOCK_TOLERANCE_SECONDS })
}

/** Tells consumers of the floor that `cutOffTokens` set. Call it last in the same transaction. */
export async function announceCutOff(deps: Deps<Tx>, appId: string, minIat: number): Promise<void> {
  await recordRevocation(deps, { appId, minIat })
}
