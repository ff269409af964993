import { checkAppBinding } from './app-binding.ts'
import { type AuthError, type AuthErrorCode, refused } from './errors.ts'
import { kindOf, show } from './show.ts'

/** What an access token says. Times are seconds since 1970. A machine token has no `sid`, no e-mail, no names and no organization. */
export interface Claims {
  /** The user's id; of a machine token, the service account's. */
  readonly uid: string
  /** Only a machine token has it. */
  readonly kind?: 'service'
  /** The user's token version; only grows. */
  readonly tv: number
  /** The session's id. */
  readonly sid: string
  readonly app_id: string
  readonly app_code: string
  readonly email: string
  /** Whether somebody has shown that they read the mail of the address. Older services leave it out. */
  readonly email_verified?: boolean
  readonly first_name: string | null
  readonly last_name: string | null
  /** With `org_slug`, when the token speaks for an organization. */
  readonly org_id?: string
  readonly org_slug?: string
  /** The user's home pool; left out when that is `default`. */
  readonly namespace?: string
  readonly iss: string
  readonly aud: string
  readonly exp: number
  readonly nbf: number
  readonly iat: number
  readonly jti: string
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
}

/** What the claims are held against. */
export interface ClaimExpectations {
  readonly appCode: string
  /** When it is not known, a token needs some `app_id`. The feed may tell it later. */
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

/** A payload that is a JSON object; what its members hold is not known yet. */
export interface Payload {
  /** With or without the two lists. */
  readonly claims: Record<string, unknown>
  /** Undefined when one of them is no list of strings. */
  readonly lists: AccessLists | undefined
}

/** A payload that holds what it ought to. */
export interface CheckedPayload extends Payload {
  readonly claims: Record<string, unknown> & Claims
  readonly lists: AccessLists
}

const INTERNED_LISTS = 256

/**
 * Parses payloads; throws unless the text is a JSON object. Parsing `permissions` is half of that work and few lists differ, so
 * the service writes the two lists last, and lists that were seen before are taken from memory: one slot for each length of
 * their text, the latest wins.
 */
export function createPayloadParser(): (text: string) => Payload {
  const interned: ({ text: string; lists: AccessLists } | undefined)[] = []
  return (text) => {
    // No string can hold these characters, for its quotes would be escaped: they begin a member of some object.
    const split = text.indexOf(',"roles":[')
    const tail = text.slice(split)
    const slot = tail.length % INTERNED_LISTS
    const known = interned[slot]
    // The tail closes one object, the outermost: without the tail, `text` is JSON exactly if it was with it.
    if (split > 1 && known?.text === tail) return { claims: parseObject(`${text.slice(0, split)}}`), lists: known.lists }

    const claims = parseObject(text)
    const { roles = [], permissions = [] } = claims
    // A string would pass for a list wherever `includes` is asked.
    if (!isListOfStrings(roles) || !isListOfStrings(permissions)) return { claims, lists: undefined }
    const lists = { roles: Object.freeze(roles), permissions: Object.freeze(permissions) }
    // Only the very form the service writes: no other member, none twice. The text made here is kept, since `tail` is a
    // slice that would keep the payload of one user in memory.
    const canonical = `,${JSON.stringify({ roles, permissions }).slice(1)}`
    if (canonical === tail) interned[slot] = { text: canonical, lists }
    return { claims, lists }
  }
}

/** Throws unless `text` is a JSON object. What is wrong with it is not to be passed on: the message would quote the token. */
export function parseObject(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text)
  if (!value || typeof value !== 'object' || Array.isArray(value)) throw new TypeError()
  return value as Record<string, unknown>
}

/** Checks what becomes true or false while a token lives. */
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
  // Equal as strings: the service issues a token for one app, so a list of audiences is none of its tokens.
  if (aud !== expected.appCode) throw unlike('TOKEN_AUDIENCE', 'aud', 'SERVICE_APP_CODE', expected.appCode, aud)
}

function checkTypes({ claims, lists }: Payload): void {
  const { uid, tv } = claims
  if (!uid || typeof uid !== 'string') throw wrongClaim('uid', uid)
  if (!isInteger(tv) || tv < 0) throw wrongClaim('tv', tv, 'an integer from 0 on')
  if (!lists) throw wrongList(claims)
  checkOptionalTexts(claims)
}

function checkApp({ claims }: Payload, expected: ClaimExpectations): void {
  checkAppBinding(claims, expected)
}

export type ClaimRule = 'times' | 'issuer' | 'audience' | 'claims' | 'app'

/** What the claims of a token must satisfy, in the order of `docs/tokens.md`. */
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

/** One by one: a loop over their names costs a twentieth of a verification. */
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
    throw wrongClaim('org_id', org_id, 'there with org_slug, or neither')
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
