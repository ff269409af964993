import { createHash, createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

/** The claims of an access token (contract 2.8, decisions 6). Times are Unix seconds. */
export interface AccessTokenClaims {
  app_id?: string
  app_code?: string
  uid: string
  email: string
  first_name: string | null
  last_name: string | null
  org_id?: string
  org_slug?: string
  /** The home pool; left out when it is `default`. */
  namespace?: string
  tv: number
  sid: string
  iss: string
  aud: string
  exp: number
  nbf: number
  iat: number
  jti: string
  roles: string[]
  permissions: string[]
}

export type TokenFault = 'expired' | 'invalid'

/** How far the clock of another server, which began a token, may be ahead of ours. */
const clockToleranceSeconds = 5

interface SigningKey {
  id: string
  key: KeyObject
  /** The first part of every token that it signs, with the dot behind it. */
  head: string
}

/** The `kid` of a signing secret: enough to tell two secrets apart, nothing to find one by. */
export function keyIdOf(secret: string): string {
  return createHash('sha256').update(`gatehouse-kid:${secret}`).digest('hex').slice(0, 8)
}

/**
 * Signs and verifies access tokens with the shared secret, and verifies those of the previous one while it is being rotated. All of
 * them are HS256: a token chooses the key by its `kid` and nothing else.
 */
export class AccessTokens {
  readonly #keys: readonly [SigningKey, ...SigningKey[]]
  readonly issuer: string

  constructor(options: { secret: string; previousSecret?: string | undefined; issuer: string }) {
    this.#keys = options.previousSecret ? [prepare(options.secret), prepare(options.previousSecret)] : [prepare(options.secret)]
    this.issuer = options.issuer
  }

  /** The key ids of the secret that signs and of the one accepted besides. */
  get keyIds(): readonly [string, string?] {
    const [current, previous] = this.#keys
    return previous ? [current.id, previous.id] : [current.id]
  }

  sign(claims: AccessTokenClaims): string {
    const [current] = this.#keys
    const text = current.head + encode(claims)
    return `${text}.${signatureOf(text, current.key)}`
  }

  /** The claims of a token that one of our secrets signed and whose times hold at `nowMs`; which user and session live is not asked here. */
  verify(token: string, nowMs: number): { claims: AccessTokenClaims } | { fault: TokenFault } {
    const end = token.lastIndexOf('.')
    // As we write it the head is compared as text, which parses nothing; consumers that test themselves may write it otherwise.
    const signer = this.#keys.find(({ head }) => token.startsWith(head)) ?? this.#signerNamedIn(token)
    if (!signer || !isSame(token.slice(end + 1), signatureOf(token.slice(0, end), signer.key))) return { fault: 'invalid' }
    const claims = parsePart(token.slice(token.indexOf('.') + 1, end))
    if (!isAccessTokenClaims(claims)) return { fault: 'invalid' }
    const now = Math.floor(nowMs / 1000)
    if (claims.exp <= now) return { fault: 'expired' }
    return claims.iss === this.issuer && hasBegun(claims, now + clockToleranceSeconds) ? { claims } : { fault: 'invalid' }
  }

  #signerNamedIn(token: string): SigningKey | undefined {
    const [first = ''] = /^[\w-]+(?=\.[\w-]+\.[\w-]+$)/.exec(token) ?? []
    const header = parsePart(first)
    if (header?.alg !== 'HS256' || (header.typ ?? 'JWT') !== 'JWT' || 'crit' in header || 'b64' in header) return undefined
    return this.#keys.find(({ id }) => id === header.kid) ?? this.#keys[0]
  }
}

function prepare(secret: string): SigningKey {
  const id = keyIdOf(secret)
  // Prepared once: given the bytes, `createHmac` is several times slower.
  return { id, key: createSecretKey(Buffer.from(secret)), head: `${encode({ alg: 'HS256', typ: 'JWT', kid: id })}.` }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function signatureOf(text: string, key: KeyObject): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** The object that a part of a token is; undefined for anything else. */
function parsePart(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function isAccessTokenClaims(claims: object | undefined): claims is AccessTokenClaims {
  const { uid, sid, tv, exp, iat } = (claims ?? {}) as Record<string, unknown>
  return (
    typeof uid === 'string' && typeof sid === 'string' && Number.isInteger(tv) && Number.isInteger(exp) && Number.isInteger(iat)
  )
}

function hasBegun({ nbf, iat }: AccessTokenClaims, latest: number): boolean {
  return iat <= latest && (nbf === undefined || (Number.isInteger(nbf) && nbf <= latest))
}
