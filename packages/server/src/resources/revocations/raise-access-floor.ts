import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordRevocation } from './record-revocation.ts'

/**
 * Kills the access tokens of a user that say more than the user may do now: in all apps, or in those that are named, where null stands for
 * a session without an app. Sessions live on, and the next refresh brings claims of now. Needs a transaction that holds the user's row,
 * and comes last in it.
 */
export async function raiseAccessFloor(
  deps: Deps<Tx>,
  userId: string,
  appIds: readonly (string | null)[] = [null],
): Promise<void> {
  if (appIds.length === 0) return
  const version = await User.raiseTokenVersion(deps.db, userId, { ofAllApps: false })
  if (version === undefined) throw new Error('there is no such user')
  const named = appIds.filter((id) => id !== null)
  // A user may be in an app without a grant, which has no row for a floor then.
  const isOfNamed = named.length === appIds.length && (await UserApp.setAccessFloors(deps.db, userId, named, version))
  if (!isOfNamed) await User.setAccessFloor(deps.db, userId, version)
  for (const appId of isOfNamed ? named : [null])
    await recordRevocation(deps, { userId, appId, sessionId: null, minTokenVersion: version })
}
