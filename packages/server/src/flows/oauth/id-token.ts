import { hash } from 'node:crypto'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { type Described, hasScope, mfa, noClass, type StandardClaims, standardClaims } from '../../lib/open-id.ts'
import { openRs256, signRs256 } from '../../lib/rs256.ts'
import { isUuid } from '../../lib/uuid.ts'
import { wordsIn } from '../../lib/words.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { getIdTokenKeys } from '../../resources/id-token-keys/id-token-keys.ts'
import { callerWithToken } from '../../resources/sessions/authenticate-caller.ts'
import { resolveRights } from '../../resources/sessions/rights.ts'
import { membershipsIn, readSelf, userOfSelf } from '../../resources/sessions/user-sessions.ts'

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
  const key = (await getIdTokenKeys(deps, generation)).current()
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
  const keys = await (await readCatalog(deps)).getIdTokenKeys()
  const claims = openRs256(hint, (id) => keys.find(id))
  if (!claims || claims.iss !== deps.config.publicUrl) return undefined
  const { aud, sub, sid }: Record<string, unknown> = claims
  const isWhole = typeof aud === 'string' && typeof sub === 'string' && typeof sid === 'string' && isUuid(sid)
  return isWhole ? { appCode: aud, userId: sub, sessionId: sid } : undefined
}

/** The access token of a call to userinfo, which may stand in the header or in a form (RFC 6750). Throws `validation_failed`. */
export function tokenOfUserinfo(bearer: string | undefined, inBody: string | undefined): string | undefined {
  if (bearer !== undefined && inBody !== undefined)
    throw fieldError('access_token', 'invalid_value', 'cannot be sent together with an Authorization header')
  return bearer ?? inBody
}

/**
 * What an app may know about the user of an access token, by the scopes that its session was opened with. All of it is read now: a
 * session that has ended, a grant that was revoked and an address that changed count at once. Throws the `token_*` errors and
 * `insufficient_scope`.
 */
export async function describeToApp(deps: Deps, token: string | undefined): Promise<{ sub: string } & StandardClaims> {
  if (token === undefined) throw new ApiError('token_missing')
  const holder = await callerWithToken(deps, token, (claims) => readSelf(deps, claims))
  const [self] = holder.rows
  if (!hasScope(self.scope, 'openid')) throw new ApiError('insufficient_scope')
  const catalog = await readCatalog(deps, holder.catalogGeneration)
  const app = holder.appId === null ? null : ((await catalog.findApp({ id: holder.appId })) ?? null)
  const memberships = membershipsIn(holder)
  const membership = memberships.find(({ id }) => id === self.session_organization_id) ?? null
  const { roles } = await resolveRights(deps, { app, membership, globalRoles: wordsIn(self.global_roles), catalog })
  const user = { ...userOfSelf(holder), mailbox_proven_at: self.mailbox_proven_at }
  const organizations = memberships.map(({ slug }) => slug)
  return { sub: holder.userId, ...standardClaims(self.scope, { user, roles, organizations }) }
}
