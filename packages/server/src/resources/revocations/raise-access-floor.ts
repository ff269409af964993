import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { MailToken } from '../../models/mail-token.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { recordRevocation } from './record-revocation.ts'

/**
 * Kills access tokens that say more than their user may do now. `appIds` names the apps; null, which stands for sessions without
 * an app, hits all apps. Sessions go on, and the next refresh brings current claims. Call it last in a transaction that holds the
 * lock on the user's row.
 */
export async function raiseAccessFloor(
  deps: Deps<Tx>,
  userId: string,
  appIds: readonly (string | null)[] = [null],
): Promise<void> {
  if (appIds.length === 0) return
  const version = await User.raiseTokenVersion(deps.db, userId, { ofAllApps: false })
  if (version === undefined) throw new Error('there is no such user')
  await MailToken.dropPending(deps.db, userId)
  const named = appIds.filter((id) => id !== null)
  // A user may be in an app without a grant. There is no row for a floor then, so it is set for all apps.
  const isOfNamed = named.length === appIds.length && (await UserApp.setAccessFloors(deps.db, userId, named, version))
  if (!isOfNamed) await User.setAccessFloor(deps.db, userId, version)
  for (const appId of isOfNamed ? named : [null])
    await recordRevocation(deps, { userId, appId, sessionId: null, minTokenVersion: version })
}
