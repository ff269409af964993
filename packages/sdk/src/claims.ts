import { AuthError } from './errors.ts'

/** What an access token says (contract 2.8). Times are seconds since 1970. */
export interface Claims {
  /** The user's id. */
  readonly uid: string
  /** The user's token version; only grows. */
  readonly tv: number
  /** The session's id. */
  readonly sid: string
  readonly app_id: string
  readonly app_code: string
  readonly email: string
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
  /** When it is not known, a token needs some `app_id`. */
  readonly appId: string | undefined
  readonly issuer: string
  readonly clockToleranceSec: number
  /** The clock, in milliseconds since 1970. */
  readonly now: () => number
}

/** The lists of a token. Users with the same roles share one object, and so the set that is made of it. */
export class AccessLists {
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
  #permissionSet: ReadonlySet<string> | undefined

  constructor(roles: readonly string[], permissions: readonly string[]) {
    this.roles = Object.freeze(roles)
    this.permissions = Object.freeze(permissions)
  }

  permits(permission: string): boolean {
    this.#permissionSet ??= new Set(this.permissions)
    return this.#permissionSet.has(permission)
  }
}

/** A payload that is a JSON object; what its members hold is not known yet. */
export interface Payload {
  readonly claims: Record<string, unknown>
  /** Undefined unless they came from the interned lists; `checkClaims` looks for them among the claims then. */
  readonly lists: AccessLists | undefined
}

const INTERNED_LISTS = 256

/**
 * Parses payloads. Parsing `permissions` is half of that work and few lists differ, so the service writes the two lists
 * last, and a list that was seen before is taken from memory: one slot for each length, the latest wins.
 */
export class PayloadParser {
  readonly #interned: ({ text: string; lists: AccessLists } | undefined)[] = new Array(INTERNED_LISTS).fill(undefined)

  /** Undefined unless `text` is a JSON object. */
  parse(text: string): Payload | undefined {
    // No string can hold these characters, for its quotes would be escaped: they begin a member of some object.
    const split = text.indexOf(',"roles":[')
    const lists = split > 1 ? this.#internedLists(text.slice(split)) : undefined
    if (lists === undefined) {
      const claims = parseObject(text)
      return claims && { claims, lists: undefined }
    }
    // The tail closes one object, the outermost: without the tail, `text` is JSON exactly if it was with it.
    const claims = parseObject(`${text.slice(0, split)}}`)
    if (claims === undefined) return undefined
    claims.roles = lists.roles
    claims.permissions = lists.permissions
    return { claims, lists }
  }

  #internedLists(tail: string): AccessLists | undefined {
    const slot = tail.length % INTERNED_LISTS
    const known = this.#interned[slot]
    if (known?.text === tail) return known.lists

    const { roles, permissions } = parseObject(`{${tail.slice(1)}`) ?? {}
    if (!isListOfStrings(roles) || !isListOfStrings(permissions)) return undefined
    // Only the very form the service writes: no other member, none twice. The text made here is kept, since `tail` is a
    // slice that would keep the payload of one user in memory.
    const text = `,${JSON.stringify({ roles, permissions }).slice(1)}`
    if (text !== tail) return undefined
    const lists = new AccessLists(roles, permissions)
    this.#interned[slot] = { text, lists }
    return lists
  }
}

/** What is wrong with the text of a bad payload is not passed on: the message would quote the token. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Checks all that a token says, in the order that `docs/tokens.md` gives, and returns it typed. */
export function checkClaims({ claims, lists }: Payload, expected: ClaimExpectations): { claims: Claims; lists: AccessLists } {
  const { exp, nbf, iat, iss, aud, uid, tv, app_code, app_id } = claims
  const now = Math.floor(expected.now() / 1000)
  const tolerance = expected.clockToleranceSec

  // Each comparison is written so that a clock that gives NaN refuses the token.
  if (!isInteger(exp)) throw wrongClaim('exp')
  if (!(now < exp + tolerance)) throw new AuthError('TOKEN_EXPIRED')
  if (nbf !== undefined) checkBegun('nbf', nbf, now + tolerance)
  checkBegun('iat', iat, now + tolerance)
  if (iss !== expected.issuer) throw new AuthError('TOKEN_ISSUER', { hint: `JWT_ISSUER is "${expected.issuer}" here` })
  // Equal as strings: the service issues a token for one app, so a list of audiences is none of its tokens.
  if (aud !== expected.appCode) throw new AuthError('TOKEN_AUDIENCE', { hint: `SERVICE_APP_CODE is "${expected.appCode}" here` })

  if (typeof uid !== 'string' || uid === '') throw wrongClaim('uid')
  if (!isInteger(tv) || tv < 0) throw wrongClaim('tv')
  const checkedLists = lists ?? readLists(claims)
  checkOptionalStrings(claims)

  // contract 5.2
  if (app_code !== expected.appCode || typeof app_id !== 'string' || app_id === '' || app_id !== (expected.appId ?? app_id))
    throw new AuthError('APP_MISMATCH', { hint: 'aud is this app; app_code or app_id (SERVICE_APP_ID) is not' })
  return { claims: claims as unknown as Claims, lists: checkedLists }
}

function checkBegun(name: 'nbf' | 'iat', value: unknown, latest: number): void {
  if (!isInteger(value)) throw wrongClaim(name)
  if (!(value <= latest)) throw new AuthError('TOKEN_NOT_YET_VALID', { hint: `${name} is in the future: compare the clocks` })
}

function readLists(claims: Record<string, unknown>): AccessLists {
  const { roles = [], permissions = [] } = claims
  // A string would pass for a list wherever `includes` is asked.
  if (!isListOfStrings(roles)) throw wrongClaim('roles')
  if (!isListOfStrings(permissions)) throw wrongClaim('permissions')
  claims.roles = roles
  claims.permissions = permissions
  return new AccessLists(roles, permissions)
}

function checkOptionalStrings(claims: Record<string, unknown>): void {
  const { sid, email, first_name, last_name, org_id, org_slug, namespace, jti } = claims
  if (!isOptionalString(sid)) throw wrongClaim('sid')
  if (!isOptionalString(email)) throw wrongClaim('email')
  if (first_name !== null && !isOptionalString(first_name)) throw wrongClaim('first_name')
  if (last_name !== null && !isOptionalString(last_name)) throw wrongClaim('last_name')
  if (!isOptionalString(jti)) throw wrongClaim('jti')
  // An empty pool or half an organization would be taken for another tenant, or for none.
  if (!isOptionalString(namespace) || namespace === '') throw wrongClaim('namespace')
  if (!isOptionalString(org_id) || org_id === '') throw wrongClaim('org_id')
  if (!isOptionalString(org_slug) || (org_slug === undefined) !== (org_id === undefined)) throw wrongClaim('org_slug')
}

function wrongClaim(name: keyof Claims): AuthError {
  return new AuthError('TOKEN_CLAIMS', { hint: `the claim ${name}` })
}

function isInteger(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isOptionalString(value: unknown): value is string | undefined {
  return typeof value === 'string' || value === undefined
}

function isListOfStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string')
}
