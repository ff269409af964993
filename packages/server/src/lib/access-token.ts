import { hash, type KeyObject } from 'node:crypto'
import { CLOCK_TOLERANCE_SECONDS, keyIdOf } from '@gatehouse/sdk/protocol'
import { keyOf, openJwt, signJwt } from './hs256.ts'

export { CLOCK_TOLERANCE_SECONDS, MAX_TOKEN_BYTES } from '@gatehouse/sdk/protocol'

/** The claims of an access token. Times are Unix seconds. */
export interface AccessTokenClaims {
  app_id?: string
  app_code?: string
  uid: string
  email: string
  email_verified: boolean
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

/** The longest life that a setting gives a token. */
const maxLifeSeconds = 3_600

export type TokenFault = 'expired' | 'invalid'

interface SigningKey {
  id: string
  key: KeyObject
}

/** Signs and verifies access tokens with the shared secret, and verifies those of the previous one while it is being rotated. */
export class AccessTokens {
  readonly #keys: readonly [SigningKey, ...SigningKey[]]
  readonly issuer: string

  constructor(options: { secret: string; previousSecret?: string | undefined; issuer: string }) {
    const { secret, previousSecret } = options
    this.#keys = previousSecret ? [signingKeyOf(secret), signingKeyOf(previousSecret)] : [signingKeyOf(secret)]
    this.issuer = options.issuer
  }

  /** The key ids of the secret that signs and of the one accepted besides. */
  get keyIds(): readonly [string, string?] {
    const [current, previous] = this.#keys
    return previous ? [current.id, previous.id] : [current.id]
  }

  sign(claims: AccessTokenClaims): string {
    const [{ id, key }] = this.#keysFor(
      () => undefined,
      () => claims.app_id,
    )
    return signJwt(claims, key, id)
  }

  /** The claims of a token that one of our secrets signed and whose times hold at `nowMs`; which user and session live is not asked here. */
  verify(token: string, nowMs: number): { claims: AccessTokenClaims } | { fault: TokenFault } {
    const claims = this.read(token)
    if (!claims) return { fault: 'invalid' }
    const now = Math.floor(nowMs / 1000)
    if (claims.exp > claims.iat + maxLifeSeconds) return { fault: 'invalid' }
    if (claims.exp <= now) return { fault: 'expired' }
    return claims.iss === this.issuer && hasBegun(claims, now + CLOCK_TOLERANCE_SECONDS) ? { claims } : { fault: 'invalid' }
  }

  /** The claims of a token that one of our secrets signed, whatever its times are. It opens nothing: `verify` decides that. */
  read(token: string): AccessTokenClaims | undefined {
    const opened = openJwt(token, ({ keyId, payload }) => {
      return this.#keysFor(keyId, () => payload().app_id).map(({ key }) => key)
    })
    if (!opened || (opened.header.typ ?? 'JWT') !== 'JWT') return undefined
    const claims: Partial<Record<keyof AccessTokenClaims, unknown>> = opened.payload
    return isAccessTokenClaims(claims) ? claims : undefined
  }

  /**
   * The keys that may have signed a token of this app: the one that its `kid` names, or else the one that signs now. All apps share
   * the secrets of this deployment.
   */
  #keysFor(keyId: () => string | undefined, _appId: () => string | undefined): readonly [SigningKey] {
    const [current, previous] = this.#keys
    return [previous !== undefined && previous.id === keyId() ? previous : current]
  }
}

function signingKeyOf(secret: string): SigningKey {
  return { id: keyIdOf(secret, hash), key: keyOf(secret) }
}

function isAccessTokenClaims(claims: Partial<Record<keyof AccessTokenClaims, unknown>>): claims is AccessTokenClaims {
  const { uid, sid, tv, exp, iat } = claims
  return (
    typeof uid === 'string' && typeof sid === 'string' && Number.isInteger(tv) && Number.isInteger(exp) && Number.isInteger(iat)
  )
}

function hasBegun({ nbf, iat }: AccessTokenClaims, latest: number): boolean {
  return iat <= latest && (nbf === undefined || (Number.isInteger(nbf) && nbf <= latest))
}
