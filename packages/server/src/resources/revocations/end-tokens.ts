import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { CLOCK_TOLERANCE_SECONDS } from '../../lib/access-token.ts'
import type { Actor } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { MailToken } from '../../models/mail-token.ts'
import type { MembershipKey } from '../../models/organization-membership.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { Session, type SessionOwner } from '../../models/session.ts'
import { TrustedBrowser } from '../../models/trusted-browser.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { eventRow } from '../audit/record-event.ts'
import { announce } from '../feeds/feeds.ts'

/** Ends one session and audits it as `event`. Does nothing if the session has already ended. */
export async function endSession(
  deps: Deps,
  { id, user_id: userId, app_id: appId }: SessionOwner,
  event: 'logout' | 'session.ended' | 'token.reuse_detected',
  actor: Actor,
): Promise<void> {
  const row = eventRow(deps, { event, actor, userId, appId, details: { session_id: id } })
  if (await Session.end(deps.db, id, row)) announce(deps)
}

/**
 * Kills all tokens of a user: raises the token version, sets the minimum above the old tokens, and ends the sessions below it. The
 * session `keptSessionId` goes on with the new version. Returns the new minimum.
 */
export async function endAllTokens(
  deps: Deps<Tx>,
  { userId, reason, keptSessionId }: { userId: string; reason: string; keptSessionId?: string },
): Promise<number> {
  const version = await raise(deps, userId, { ofAllApps: true })
  const ended = { ended_at: deps.clock(), ended_reason: reason }
  await Session.query(deps.db).where({ user_id: userId }).where('token_version', '<', version).whereNull('ended_at').patch(ended)
  await BrowserSession.list(deps.db, { user_id: userId, ended_at: null }).where('version', '<', version).patch(ended)
  await TrustedBrowser.remove(deps.db, { user_id: userId })
  if (keptSessionId !== undefined)
    await Session.query(deps.db).findById(keptSessionId).patch({ ended_at: null, ended_reason: null, token_version: version })
  deps.revocations.note({ userId, appId: null, minTokenVersion: version })
  return version
}

/**
 * Kills the tokens of these users for one app. Tokens of other apps stay alive, because their minimum does not change. Needs the
 * locks on the rows of the users.
 */
export async function endTokensOfApp(
  deps: Deps<Tx>,
  { userIds, appId, reason }: { userIds: readonly string[]; appId: string; reason: string },
): Promise<void> {
  const raised = await User.raiseTokenVersions(deps.db, userIds, { ofAllApps: false })
  await UserApp.raiseFloors(deps.db, appId, userIds)
  await Session.list(deps.db, { app_id: appId })
    .whereIn('user_id', [...userIds])
    .whereNull('ended_at')
    .patch({ ended_at: deps.clock(), ended_reason: reason })
  await MailToken.dropPending(deps.db, userIds)
  for (const { id, token_version } of raised) deps.revocations.note({ userId: id, appId, minTokenVersion: token_version })
}

/**
 * Kills access tokens that say more than their user may do now. `appIds` names the apps; null, which stands for sessions without
 * an app, hits all apps. Sessions go on, and the next refresh brings current claims. Needs the lock on the user's row.
 */
export async function raiseAccessFloor(
  deps: Deps<Tx>,
  userId: string,
  appIds: readonly (string | null)[] = [null],
): Promise<void> {
  if (appIds.length === 0) return
  const version = await raise(deps, userId, { ofAllApps: false })
  const named = appIds.filter((id) => id !== null)
  // A user may be in an app without a grant. There is no row for a minimum then, so it is set for all apps.
  const grants = UserApp.list(deps.db, { user_id: userId }).whereIn('app_id', named)
  const isOfNamed = named.length === appIds.length && (await grants.clone().resultSize()) >= named.length
  if (isOfNamed) await grants.patch({ min_access_version: version })
  else await User.query(deps.db).findById(userId).patch({ min_access_version: version })
  for (const appId of isOfNamed ? named : [null]) deps.revocations.note({ userId, appId, minTokenVersion: version })
}

/**
 * Kills the access tokens for an organization that their user has left or lost roles in: all those for the apps where the user
 * has a session in it. Needs the lock on the user's row.
 */
export async function killMembershipTokens(deps: Deps<Tx>, { organizationId, userId }: MembershipKey): Promise<void> {
  const open = await Session.list(deps.db, { user_id: userId, organization_id: organizationId, ended_at: null })
    .where('expires_at', '>', deps.clock())
    .distinct('app_id')
  const appIds = open.map(({ app_id }) => app_id)
  await raiseAccessFloor(deps, userId, appIds)
}

/** Whatever raises the version also drops changes of the address that wait for a click. */
async function raise(deps: Deps<Tx>, userId: string, reach: { ofAllApps: boolean }): Promise<number> {
  const [raised] = await User.raiseTokenVersions(deps.db, [userId], reach)
  if (!raised) throw new Error('there is no such user')
  await MailToken.dropPending(deps.db, [userId])
  return raised.token_version
}

/**
 * Kills every access token of an app that was issued before now, or is being issued by a server whose clock is slightly ahead.
 * Sessions go on.
 */
export async function endAccessOfApp(deps: Deps<Tx>, appId: string): Promise<void> {
  const minIat = await App.raiseMinIat(deps.db, appId, { now: deps.clock(), leadSeconds: CLOCK_TOLERANCE_SECONDS })
  deps.revocations.note({ appId, minIat })
}

/** Kills the machine tokens of an account at every app. An account that may still get tokens can get new ones. */
export async function endMachineTokens(deps: Deps<Tx>, accountId: string): Promise<void> {
  const minTokenVersion = await ServiceAccount.raiseTokenVersion(deps.db, accountId)
  // Without the account, its deletion has announced the minimum.
  if (minTokenVersion !== undefined) deps.revocations.note({ userId: accountId, appId: null, minTokenVersion })
}

/** Kills the machine tokens of every account that may get tokens for the app. */
export async function endMachineTokensOfApp(deps: Deps<Tx>, appId: string): Promise<void> {
  const ofApp = ServiceAccount.relatedQuery<App>('apps', deps.db).where('apps.id', appId)
  // In the order of their ids, so that transactions do not deadlock.
  const accounts = await ServiceAccount.query(deps.db).whereExists(ofApp).orderBy('id').select('id', 'scopes')
  for (const { id, scopes } of accounts) if (scopes.includes('tokens:issue')) await endMachineTokens(deps, id)
}
