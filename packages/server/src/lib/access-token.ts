import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'

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
}

/** The `kid` of a signing secret: enough to tell two secrets apart, nothing to find one by. */
export function keyIdOf(secret: string): string {
  return createHash('sha256').update(`gatehouse-kid:${secret}`).digest('hex').slice(0, 8)
}

/** Signs and verifies access tokens with the shared secret, and verifies those of the previous one while it is being rotated. */
export class AccessTokens {
  readonly #keys: readonly [SigningKey, ...SigningKey[]]
  readonly issuer: string

  constructor(options: { secret: string; previousSecret?: string | undefined; issuer: string }) {
    // jsonwebtoken spends 0.3 ms a call on a secret given as a string; a KeyObject is prepared once.
    const prepare = (secret: string): SigningKey => ({ id: keyIdOf(secret), key: createSecretKey(Buffer.from(secret, 'utf8')) })
    this.#keys = options.previousSecret ? [prepare(options.secret), prepare(options.previousSecret)] : [prepare(options.secret)]
    this.issuer = options.issuer
  }

  /** The key ids of the secret that signs and of the one accepted besides. */
  get keyIds(): readonly [string, string?] {
    const [current, previous] = this.#keys
    return previous ? [current.id, previous.id] : [current.id]
  }

  sign(claims: AccessTokenClaims): string {
    const { id, key } = this.#keys[0]
    return jwt.sign(claims, key, { algorithm: 'HS256', keyid: id })
  }

  /** The claims of a token that one of our secrets signed and whose times hold at `nowMs`; which user and session live is not asked here. */
  verify(token: string, nowMs: number): { claims: AccessTokenClaims } | { fault: TokenFault } {
    try {
      const header = jwt.decode(token, { complete: true })?.header as (jwt.JwtHeader & { b64?: unknown }) | undefined
      if (!header || (header.typ !== undefined && header.typ !== 'JWT') || 'crit' in header || 'b64' in header)
        return { fault: 'invalid' }
      const { key } = this.#keys.find((candidate) => candidate.id === header.kid) ?? this.#keys[0]
      const now = Math.floor(nowMs / 1000)
      const options = { issuer: this.issuer, clockTimestamp: now, ignoreNotBefore: true }
      const claims = jwt.verify(token, key, { ...options, algorithms: ['HS256'] })
      return isAccessTokenClaims(claims) && hasBegun(claims, now + clockToleranceSeconds) ? { claims } : { fault: 'invalid' }
    } catch (error) {
      return { fault: error instanceof jwt.TokenExpiredError ? 'expired' : 'invalid' }
    }
  }
}

function isAccessTokenClaims(claims: unknown): claims is AccessTokenClaims {
  if (typeof claims !== 'object' || claims === null) return false
  const { uid, sid, tv, exp, iat } = claims as Record<string, unknown>
  return (
    typeof uid === 'string' && typeof sid === 'string' && Number.isInteger(tv) && Number.isInteger(exp) && Number.isInteger(iat)
  )
}

function hasBegun({ nbf, iat }: AccessTokenClaims, latest: number): boolean {
  return iat <= latest && (nbf === undefined || (Number.isInteger(nbf) && nbf <= latest))
}
