import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { authorityOfUser } from '../../lib/authority.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import type { Proof, ShownFactor } from '../../lib/proof.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { newId } from '../../lib/uuid.ts'
import { relyingPartyOf } from '../../lib/web-authn.ts'
import { BrowserSession, type LiveBrowserSession } from '../../models/browser-session.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { recordEvent } from '../audit/record-event.ts'
import { readCatalog } from '../catalog/catalog.ts'
import { getUser } from '../users/users.ts'
import { newDeviceTokenOf } from './open-session.ts'

/** How long a person who chose to stay signed in may stay away. */
export const keptIdleSeconds = 30 * 86_400
/** Uses are noted to the minute, so that not every entry writes. */
const noteUseEveryMs = 60_000

/** The browser session of a secret that a browser has sent. Undefined if it is unknown, over, or its user may not sign in. */
export async function findBrowserSession(deps: Deps, secret: string | undefined): Promise<LiveBrowserSession | undefined> {
  if (secret === undefined) return undefined
  const now = deps.clock()
  const rpId = relyingPartyOf(deps.config.publicUrl)?.id ?? null
  const live = await BrowserSession.findLive(deps.db, { hash: hashOpaqueToken(secret), rpId, now })
  return live && live.started_at + deps.config.sessionMaxSeconds * 1000 > now ? live : undefined
}

/**
 * The caller of our own pages: the person of a live browser session, without an app and without any right of administration. Both
 * factors count for changes of credentials, and the older one decides. Somebody who owns a passkey alone shows it where an app of
 * theirs requires a second factor, unless it is newer than the proof: with the password alone, a thief could set up another factor,
 * and enter with that.
 */
export function callerOfBrowser(deps: Deps, live: LiveBrowserSession): PersonCaller {
  const ownsFactor = live.factor_activated_at !== null || Boolean(live.had_passkey && live.demands_second)
  // A trusted browser spares the code at a sign-in, and shows nothing.
  const isOfPresent = live.second_activated_at === live.factor_activated_at && live.second_factor !== 'trusted'
  const isWhole = !ownsFactor || (live.second_proven_at !== null && isOfPresent)
  const provenAt = isWhole ? Math.min(live.first_proven_at, live.second_proven_at ?? live.first_proven_at) : null
  const provenFactor = isWhole ? live.factor_activated_at : null
  const authority = authorityOfUser({ adminRoles: [], app: null, provenAt, provenFactor }, deps.config)
  return {
    kind: 'user',
    userId: live.user_id,
    sessionId: null,
    appId: null,
    browserSessionId: live.browser_session_id,
    authority,
  }
}

/**
 * Keeps a proof in the browser that showed it, and returns the secret for its cookie. A session of the same user goes on under the
 * new secret; one of somebody else ends, but the app sessions that it opened live on.
 */
export async function keepInBrowser(
  deps: Deps<Tx>,
  { proof, before, isKept }: { proof: Proof; before: LiveBrowserSession | undefined; isKept: boolean },
  actor: Actor,
): Promise<string> {
  const secret = newOpaqueToken(TOKEN_PREFIXES.browserSession)
  const now = deps.clock()
  const isSame = before?.user_id === proof.userId
  const startedAt = isSame ? before.started_at : now
  const row = {
    hash: hashOpaqueToken(secret),
    user_id: proof.userId,
    version: proof.version,
    first_factor: proof.method,
    first_proven_at: proof.firstProvenAt,
    second_factor: proof.second ? kindOf(proof.method, proof.second) : null,
    second_proven_at: proof.second?.provenAt ?? null,
    second_activated_at: proof.second?.activatedAt ?? null,
    is_kept: isKept ? 1 : 0,
    last_seen_at: now,
    signed_in_at: now,
    expires_at: expiryOf(deps, { isKept, startedAt }),
    ip: actor.origin.ip || null,
    user_agent: actor.origin.userAgent,
  }
  if (isSame && (await BrowserSession.renew(deps.db, before.browser_session_id, row))) return secret
  if (before) await endBrowserSession(deps, { id: before.browser_session_id, reason: 'replaced' }, actor)
  const id = newId(now)
  await BrowserSession.open(deps.db, { ...row, id, started_at: now })
  await recordEvent(deps, { event: 'browser_session.created', actor, userId: proof.userId, details: { session_id: id } })
  return secret
}

function kindOf(method: string, { isTrusted }: ShownFactor): 'trusted' | 'passkey' | 'otp' {
  if (isTrusted) return 'trusted'
  return method === 'passkey' ? 'passkey' : 'otp'
}

/** The values of the cookies of somebody who is signed in in a browser. */
export interface BrowserSecrets {
  secret: string
  isKept: boolean
  deviceToken: string
}

/**
 * Gives a browser session a new secret, after a change that concerns how its person signs in. With `version` it goes on over a
 * minimum token version that has just ended it. Needs `lockOwner` in the same transaction.
 */
export async function renewSecrets(deps: Deps<Tx>, live: LiveBrowserSession, version?: number): Promise<BrowserSecrets> {
  const secret = newOpaqueToken(TOKEN_PREFIXES.browserSession)
  const changes = { hash: hashOpaqueToken(secret), ...(version === undefined ? {} : { version }) }
  await BrowserSession.update(deps.db, { id: live.browser_session_id }, { ...changes, ended_at: null, ended_reason: null })
  return { secret, isKept: live.is_kept === 1, deviceToken: await newDeviceTokenFor(deps, live.user_id) }
}

/** A device token for a user as the account is now. */
export async function newDeviceTokenFor(deps: Deps, userId: string): Promise<string> {
  const user = await getUser(deps, userId)
  const factor = await SecondFactor.findActive(deps.db, userId)
  const minIat = await (await readCatalog(deps)).getMinIat()
  return newDeviceTokenOf(deps, { user, minIat }, factor?.activated_at ?? null)
}

/** Moves the end of a browser session that is used. */
export async function noteBrowserUse(deps: Deps, live: LiveBrowserSession): Promise<void> {
  const now = deps.clock()
  if (now - live.last_seen_at < noteUseEveryMs) return
  const expiresAt = expiryOf(deps, { isKept: live.is_kept === 1, startedAt: live.started_at })
  const alive = BrowserSession.list(deps.db, { id: live.browser_session_id, ended_at: null })
  await alive.patch({ last_seen_at: now, expires_at: expiresAt })
}

/** It ends without use, and always after the longest life of a session, counted from the first sign-in. */
function expiryOf({ config, clock }: Deps, { isKept, startedAt }: { isKept: boolean; startedAt: number }): number {
  const idleSeconds = isKept ? keptIdleSeconds : config.browserSessionSeconds
  return Math.min(clock() + idleSeconds * 1000, startedAt + config.sessionMaxSeconds * 1000)
}

/** Ends a browser session. With `withApps` also the app sessions that it opened, whose tokens die everywhere at once. */
export async function endBrowserSession(
  deps: Deps<Tx>,
  { id, reason, withApps = false }: { id: string; reason: string; withApps?: boolean },
  actor: Actor,
): Promise<void> {
  const now = deps.clock()
  const ended = await BrowserSession.end(deps.db, id, { now, reason })
  if (withApps)
    for (const { id: sessionId, user_id: userId, app_id: appId } of await Session.endOfBrowser(deps.db, id, { now, reason })) {
      await recordEvent(deps, { event: 'logout', actor, userId, appId, details: { session_id: sessionId } })
      deps.revocations.note({ userId, appId, sessionId })
    }
  if (!ended) return
  const about = { userId: ended.user_id, reason, details: { session_id: id } }
  await recordEvent(deps, { event: 'browser_session.ended', actor, ...about })
}
