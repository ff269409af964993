import { hash } from 'node:crypto'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { mfa, noClass } from '../../lib/acr.ts'
import { openRs256, signRs256 } from '../../lib/rs256.ts'
import { type Described, standardClaims } from '../../lib/standard-claims.ts'
import { isUuid } from '../../lib/uuid.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { getSigningKeys } from '../../resources/signing-keys/signing-keys.ts'

/** An ID token says who signed in, and is read once, by the app that asked. */
const lifeSeconds = 600

/** A sign-in, as the ID token of an app tells it. */
export interface ToldSignIn extends Described {
  userId: string
  appCode: string
  /** The session of the app. */
  sessionId: string
  /** In milliseconds. */
  firstProvenAt: number
  amr: readonly string[]
  nonce: string | null
  scope: string
}

/** Signs the ID token that goes with an access token. Not in a transaction: SQLite would let nobody else write meanwhile. */
export async function signIdToken(deps: Deps<Pool>, told: ToldSignIn, accessToken: string, generation: string): Promise<string> {
  const { userId, appCode, sessionId, firstProvenAt, amr, nonce } = told
  const key = (await getSigningKeys(deps, generation)).current()
  if (!key) throw new Error('there is no key for ID tokens')
  const now = Math.floor(deps.clock() / 1000)
  const claims = {
    iss: deps.config.publicUrl,
    sub: userId,
    aud: appCode,
    azp: appCode,
    exp: now + lifeSeconds,
    iat: now,
    auth_time: Math.floor(firstProvenAt / 1000),
    ...(nonce === null ? {} : { nonce }),
    amr,
    acr: amr.includes(mfa) ? mfa : noClass,
    sid: sessionId,
    at_hash: hash('sha256', accessToken, 'buffer').subarray(0, 16).toString('base64url'),
    ...standardClaims(told.scope, told),
  }
  return signRs256(claims, key)
}

/** The roles in an access token that was just signed here. */
export function rolesIn(accessToken: string): string[] {
  const [, payload = ''] = accessToken.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString()).roles
}

/** An app, and the user and the session that it knows. */
interface IdTokenHint {
  appCode: string
  userId: string
  sessionId: string
}

/** What a hint says about whom an app has signed in: an ID token that a key of ours signed, even if it is expired. */
export async function readIdTokenHint(deps: Deps, hint: string): Promise<IdTokenHint | undefined> {
  const keys = await (await readCatalog(deps)).getSigningKeys()
  const claims = openRs256(hint, (id) => keys.find(id))
  if (!claims || claims.iss !== deps.config.publicUrl) return undefined
  const { aud, sub, sid } = claims as { aud?: unknown; sub?: unknown; sid?: unknown }
  const isWhole = typeof aud === 'string' && typeof sub === 'string' && typeof sid === 'string' && isUuid(sid)
  return isWhole ? { appCode: aud, userId: sub, sessionId: sid } : undefined
}
