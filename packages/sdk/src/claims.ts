import { checkAppBinding } from './app-binding.ts'
import { type AuthError, type AuthErrorCode, refused } from './errors.ts'
import { kindOf, show } from './show.ts'

/** The claims that every access token has. Times are in seconds since 1970. */
interface CommonClaims {
  /** The id of the user; in a machine token, that of the service account. */
  readonly uid: string
  /** The user's token version, or that of the service account. It only grows. */
  readonly tv: number
  readonly app_id: string
  readonly app_code: string
  readonly iss: string
  readonly aud: string
  readonly exp: number
  readonly nbf: number
  readonly iat: number
  readonly jti: string
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
}

/** The claims of a user's token. */
export interface UserClaims extends CommonClaims {
  readonly kind?: undefined
  /** The session's id. */
  readonly sid: string
  readonly email: string
  /** Whether the address is verified: somebody has shown that they read its mail. Older services leave it out. */
  readonly email_verified?: boolean
  readonly first_name: string | null
  readonly last_name: string | null
  /** Present, with `org_slug`, if the token speaks for an organization. */
  readonly org_id?: string
  readonly org_slug?: string
  /** The user's home pool. Left out if it is `default`. */
  readonly namespace?: string
  /** When the user last showed a first factor. A refresh never moves it. Older services leave this and `amr` out. */
  readonly auth_time?: number
  /** What the user showed: `pwd`, `otp`, `swk` for a passkey, and `mfa` for two factors or a passkey that knows its user. */
  readonly amr?: readonly string[]
}

/** The claims of a machine token, which stands for a service account: no session, no e-mail, no names and no organization. */
export interface ServiceClaims extends CommonClaims {
  readonly kind: 'service'
  readonly sid?: undefined
  readonly email?: undefined
  readonly email_verified?: undefined
  readonly first_name?: undefined
  readonly last_name?: undefined
  readonly org_id?: undefined
  readonly org_slug?: undefined
  readonly namespace?: undefined
  readonly auth_time?: undefined
  readonly amr?: undefined
}

/** The claims of an access token. `kind` tells the two apart. */
export type Claims = UserClaims | ServiceClaims

/** The values that the claims are checked against. */
export interface ClaimExpectations {
  readonly appCode: string
  /** While it is unknown, any `app_id` will do, but a token needs one. The feed may set it later. */
  readonly appId: string | undefined
  readonly issuer: string
  readonly clockToleranceSec: number
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number
}

/** The lists of a token, frozen. Users with the same roles share one object. */
export interface AccessLists {
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
}

/** A payload that is a JSON object. Its members are not checked yet. */
export interface Payload {
  /** With or without the two lists. */
  readonly claims: Record<string, unknown>
  /** Undefined if one of them is not a list of strings. */
  readonly lists: AccessLists | undefined
}

/** A payload whose claims have been checked. */
export interface CheckedPayload extends Payload {
  readonly claims: Record<string, unknown> & Claims
  readonly lists: AccessLists
}

const INTERNED_LISTS = 256

/**
 * Returns a parser of payloads, which throws unless the text is a JSON object. Parsing `permissions` is half of that work, and
 * many tokens share the same lists. So the service writes the two lists last, and the parser remembers lists it has seen: one
 * slot for each length of their text, and the latest wins.
 */
export function createPayloadParser(): (text: string) => Payload {
  const interned: ({ text: string; lists: AccessLists } | undefined)[] = []
  return (text) => {
    // No string can contain these characters, since its quotes would be escaped. So they begin a member of some object.
    const split = text.indexOf(',"roles":[')
    const tail = text.slice(split)
    const slot = tail.length % INTERNED_LISTS
    const known = interned[slot]
    // The tail closes only the outermost object, so `text` is JSON exactly if it is with a `}` in place of the tail.
    if (split > 1 && known?.text === tail) return { claims: parseObject(`${text.slice(0, split)}}`), lists: known.lists }

    const claims = parseObject(text)
    const { roles = [], permissions = [] } = claims
    // A string also has `includes`, so it would pass for a list.
    if (!isListOfStrings(roles) || !isListOfStrings(permissions)) return { claims, lists: undefined }
    const lists = { roles: Object.freeze(roles), permissions: Object.freeze(permissions) }
    // Only in the exact form that the service writes: no other member, none twice. Keeps `canonical` and not `tail`, a slice that
    // would keep the payload of one user in memory.
    const canonical = `,${JSON.stringify({ roles, permissions }).slice(1)}`
    if (canonical === tail) interned[slot] = { text: canonical, lists }
    return { claims, lists }
  }
}

/** Parses a JSON object, and throws for anything else. Do not pass the error on: its message would quote the token. */
export function parseObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text)
  if (!value || typeof value !== 'object' || Array.isArray(value)) throw new TypeError()
  return value as Record<string, unknown>
}

/** Checks the claims whose validity changes during the life of a token. */
export function checkTimes({ claims }: Payload, expected: ClaimExpectations): void {
  const { exp, nbf, iat } = claims
  const now = Math.floor(expected.now() / 1000)
  const tolerance = expected.clockToleranceSec

  // Each comparison is written so that a clock that gives NaN refuses the token.
  if (!isInteger(exp)) throw wrongClaim('exp', exp, 'an integer')
  if (!(now < exp + tolerance)) throw wrongTime('TOKEN_EXPIRED', `exp was ${now - exp} s ago`, tolerance)
  if (nbf !== undefined) checkBegun('nbf', nbf, now, tolerance)
  checkBegun('iat', iat, now, tolerance)
}

function checkIssuer({ claims: { iss } }: Payload, expected: ClaimExpectations): void {
  if (iss !== expected.issuer) throw unlike('TOKEN_ISSUER', 'iss', 'JWT_ISSUER', expected.issuer, iss)
}

function checkAudience({ claims: { aud } }: Payload, expected: ClaimExpectations): void {
  // Compared as strings: the service issues a token for one app, so a token with a list of audiences is not one of its tokens.
  if (aud !== expected.appCode) throw unlike('TOKEN_AUDIENCE', 'aud', 'SERVICE_APP_CODE', expected.appCode, aud)
}

function checkTypes({ claims, lists }: Payload): void {
  const { uid, tv } = claims
  if (!uid || typeof uid !== 'string') throw wrongClaim('uid', uid)
  if (!isInteger(tv) || tv < 0) throw wrongClaim('tv', tv, 'an integer of 0 or more')
  if (!lists) throw wrongList(claims)
  checkOptionalTexts(claims)
}

function checkApp({ claims }: Payload, expected: ClaimExpectations): void {
  checkAppBinding(claims, expected)
}

export type ClaimRule = 'times' | 'issuer' | 'audience' | 'claims' | 'app'

/** The checks of the claims, in the order of `docs/guard-a-backend/tokens.md`. */
export const claimRules: readonly (readonly [ClaimRule, (payload: Payload, expected: ClaimExpectations) => void])[] = [
  ['times', checkTimes],
  ['issuer', checkIssuer],
  ['audience', checkAudience],
  ['claims', checkTypes],
  ['app', checkApp],
]

export function checkClaims(payload: Payload, expected: ClaimExpectations): asserts payload is CheckedPayload {
  for (const [, check] of claimRules) check(payload, expected)
}

function checkBegun(name: 'nbf' | 'iat', value: unknown, now: number, tolerance: number): void {
  if (!isInteger(value)) throw wrongClaim(name, value, 'an integer')
  if (!(value <= now + tolerance))
    throw wrongTime('TOKEN_NOT_YET_VALID', `a clock is off: ${name} is ${value - now} s ahead`, tolerance)
}

/** Written out one by one: a loop over the names would cost a twentieth of a verification. */
function checkOptionalTexts(claims: Record<string, unknown>): void {
  const { kind, sid, email, first_name, last_name, jti, namespace, org_id, org_slug } = claims
  checkText('kind', kind)
  checkText('sid', sid)
  checkText('email', email)
  checkText('first_name', first_name ?? undefined)
  checkText('last_name', last_name ?? undefined)
  checkText('jti', jti)
  checkText('namespace', namespace)
  checkText('org_id', org_id)
  checkText('org_slug', org_slug)
  // An empty pool or half an organization would be taken for another tenant, or for none.
  if (namespace === '') throw wrongClaim('namespace', namespace)
  if (org_id === '' || (org_id === undefined) !== (org_slug === undefined))
    throw wrongClaim('org_id', org_id, 'set together with org_slug')
}

function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string' && value !== undefined) throw wrongClaim(name, value)
}

function unlike(code: AuthErrorCode, claim: string, variable: string, wanted: string, value: unknown): AuthError {
  return refused(code, `expected ${claim} ${show(wanted)} (${variable}), got ${show(value)}`)
}

function wrongTime(code: AuthErrorCode, what: string, tolerance: number): AuthError {
  return refused(code, `${what} by this machine's clock, clockToleranceSec is ${tolerance}`)
}

function wrongList({ roles = [], permissions }: Record<string, unknown>): AuthError {
  const isRoles = !isListOfStrings(roles)
  return wrongClaim(isRoles ? 'roles' : 'permissions', isRoles ? roles : permissions, 'a list of strings')
}

function wrongClaim(name: string, value: unknown, wanted = 'a string'): AuthError {
  return refused('TOKEN_CLAIMS', `expected ${name} to be ${wanted}, got ${kindOf(value)}`)
}

const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}
