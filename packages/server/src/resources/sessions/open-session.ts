import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { newDeviceToken } from '../../lib/device-token.ts'
import { factsOf, type SignInFacts, shownBy } from '../../lib/proof.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { newRefreshToken } from '../../lib/refresh-token.ts'
import { newId } from '../../lib/uuid.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { Session } from '../../models/session.ts'
import { type Admission, admitByProof, type EntryRequest } from './admit.ts'
import { presentTokens } from './present.ts'
import { claimsOf } from './rights.ts'

/** Opens a session for a proof that the gate admits, and returns its first tokens. */
export async function openSession(deps: Deps<Tx>, request: EntryRequest, actor: Actor): Promise<TokenAnswer> {
  const { proof, browser } = request
  const admission = await admitByProof(deps, request, actor)
  const now = deps.clock()
  const facts = factsOf(proof)
  const shown = shownBy(proof)
  const lastsMs = deps.config.sessionMaxSeconds * 1000
  const session = { id: browser?.sessionId ?? newId(now), expiresAt: (browser?.startedAt ?? now) + lastsMs, ...facts }
  const refreshToken = newRefreshToken(deps.config.encryptionKeys, session.id)
  const refreshExpiresAt = refreshExpiry(deps, session, now)
  await Session.open(deps.db, {
    sessionId: session.id,
    userId: request.user.id,
    appId: request.app?.id ?? null,
    organizationId: admission.membership?.id ?? null,
    authMethod: proof.method,
    version: proof.version,
    ip: actor.origin.ip || null,
    userAgent: actor.origin.userAgent,
    now,
    // What was shown on a page of this service does not count as a proof to the app's session.
    provenAt: browser ? null : (proof.second?.provenAt ?? proof.firstProvenAt),
    firstProvenAt: facts.firstProvenAt,
    amr: facts.amr.join(' '),
    secondFactor: shown.second,
    shownAt: shown.shownAt,
    browserSessionId: browser?.id ?? null,
    scope: browser?.scope ?? null,
    sessionExpiresAt: session.expiresAt,
    hash: hashOpaqueToken(refreshToken),
    expiresAt: refreshExpiresAt,
  })
  const deviceToken = newDeviceTokenOf(deps, admission, proof.second?.activatedAt ?? null)
  return issueTokens(deps, admission, session, { token: refreshToken, expiresAt: refreshExpiresAt, deviceToken })
}

/** Identifies a device at its next login. The token is bound to the active second factor through its activation time. */
export function newDeviceTokenOf(
  deps: Deps,
  { user, minIat }: Pick<Admission, 'user' | 'minIat'>,
  factorActivatedAt: number | null,
): string {
  const owner = { ...user, factor_activated_at: factorActivatedAt }
  return newDeviceToken(deps.config.encryptionKeys, owner, { now: deps.clock(), minIat })
}

/** Stores a refresh token of a session; returns when it expires, in milliseconds. */
export async function insertRefreshToken(
  deps: Deps<Tx>,
  token: string,
  session: { id: string; expiresAt: number },
): Promise<number> {
  const now = deps.clock()
  const expiresAt = refreshExpiry(deps, session, now)
  await RefreshToken.issue(deps.db, { hash: hashOpaqueToken(token), sessionId: session.id, now, expiresAt })
  return expiresAt
}

/** When a refresh token that is issued now expires, in milliseconds. */
export function refreshExpiry(deps: Deps, session: { expiresAt: number }, now: number): number {
  return Math.min(now + deps.config.refreshTtlSeconds * 1000, session.expiresAt)
}

/** Signs an access token for an admission and builds the answer. */
export function issueTokens(
  deps: Deps,
  admission: Admission,
  session: SignInFacts & { id: string; expiresAt: number },
  refresh: { token: string; expiresAt: number; deviceToken?: string },
): TokenAnswer {
  const now = deps.clock()
  const nowSeconds = Math.floor(now / 1000)
  // After an app was deactivated or a backup was restored, `iat` separates new tokens from older ones, so it must reach `minIat`.
  const issuedAt = Math.max(nowSeconds, admission.minIat)
  const expiresAtMs = Math.min(
    now + deps.config.accessTtlSeconds * 1000,
    session.expiresAt,
    admission.grantExpiresAt ?? Number.POSITIVE_INFINITY,
  )
  const expiresAt = Math.floor(expiresAtMs / 1000)
  return presentTokens({
    admission,
    accessToken: deps.accessTokens.sign(claimsOf(deps, admission, session, issuedAt, expiresAt), admission.keyring),
    expiresIn: expiresAt - nowSeconds,
    refreshToken: refresh.token,
    refreshExpiresIn: Math.max(0, Math.round((refresh.expiresAt - now) / 1000)),
    deviceToken: refresh.deviceToken,
  })
}
