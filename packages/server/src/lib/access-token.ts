import { CLOCK_TOLERANCE_SECONDS } from '@gatehouse/sdk/protocol'
import { openJwt, signJwt } from './hs256.ts'
import { type Keyring, type Keyrings, keysWithId } from './keyrings.ts'

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

/** Signs and verifies access tokens with the keys of their app. */
export class AccessTokens {
  readonly issuer: string

  constructor(issuer: string) {
    this.issuer = issuer
  }

  sign(claims: AccessTokenClaims, [{ id, key }]: Keyring): string {
    return signJwt(claims, key, id)
  }

  /** The claims of a token that a key of its app signed and whose times hold at `nowMs`; which user and session live is not asked here. */
  verify(token: string, nowMs: number, keyrings: Keyrings): { claims: AccessTokenClaims } | { fault: TokenFault } {
    const claims = this.read(token, keyrings)
    if (!claims) return { fault: 'invalid' }
    const now = Math.floor(nowMs / 1000)
    if (claims.exp > claims.iat + maxLifeSeconds) return { fault: 'invalid' }
    if (claims.exp <= now) return { fault: 'expired' }
    return claims.iss === this.issuer && hasBegun(claims, now + CLOCK_TOLERANCE_SECONDS) ? { claims } : { fault: 'invalid' }
  }

  /** The claims of a token that a key of its app signed, whatever its times are. It opens nothing: `verify` decides that. */
  read(token: string, keyrings: Keyrings): AccessTokenClaims | undefined {
    const opened = openJwt(token, ({ keyId, payload }) => {
      const keyring = keyrings.ofApp(() => payload().app_id)
      return keysWithId(keyring, keyring.length > 1 ? keyId() : undefined).map(({ key }) => key)
    })
    if (!opened || (opened.header.typ ?? 'JWT') !== 'JWT') return undefined
    const claims: Partial<Record<keyof AccessTokenClaims, unknown>> = opened.payload
    return isAccessTokenClaims(claims) ? claims : undefined
  }
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
