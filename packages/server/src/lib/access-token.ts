import { CLOCK_TOLERANCE_SECONDS } from '@gatehouse/sdk/protocol'
import { z } from 'zod'
import { id } from './fields.ts'
import { openJwt, signJwt } from './hs256.ts'
import { type Keyring, type Keyrings, keysWithId } from './keyrings.ts'

export { CLOCK_TOLERANCE_SECONDS, MAX_TOKEN_BYTES } from '@gatehouse/sdk/protocol'

/** The claims of an access token. Times are Unix seconds. */
export const accessTokenClaims = z.object({
  app_id: id.optional(),
  app_code: z.string().optional(),
  uid: id,
  /** Equal to `uid`, for standard verifiers. Like `auth_time` and `amr`, absent from tokens of earlier versions. */
  sub: id.optional(),
  email: z.string(),
  email_verified: z.boolean(),
  first_name: z.string().nullable(),
  last_name: z.string().nullable(),
  org_id: id.optional(),
  org_slug: z.string().optional(),
  /** The home pool; left out when it is `default`. */
  namespace: z.string().optional(),
  tv: z.int(),
  sid: id,
  /** When the first factor was shown. Like `amr`, it is for apps: this service never reads it from a token. */
  auth_time: z.int().optional(),
  /** How the user signed in (RFC 8176): `pwd`, `otp`, `mfa`. */
  amr: z.array(z.string()).optional(),
  iss: z.string(),
  aud: z.string(),
  exp: z.int(),
  nbf: z.int(),
  iat: z.int(),
  jti: id,
  roles: z.array(z.string()),
  permissions: z.array(z.string()),
})
export type AccessTokenClaims = z.output<typeof accessTokenClaims>

type CommonClaims = Pick<AccessTokenClaims, 'tv' | 'iss' | 'aud' | 'exp' | 'nbf' | 'iat' | 'jti' | 'roles' | 'permissions'>

/** The claims of a machine token. It stands for a service account, belongs to no session and gives no access to this service. */
export interface MachineTokenClaims extends CommonClaims {
  app_id: string
  app_code: string
  /** The service account. */
  uid: string
  kind: 'service'
}

/** The longest lifetime that the settings allow for a token. */
const maxLifeSeconds = 3_600

export type TokenFault = 'expired' | 'invalid'

/** Signs and verifies access tokens with the keys of their app. */
export class AccessTokens {
  readonly issuer: string

  constructor(issuer: string) {
    this.issuer = issuer
  }

  sign(claims: AccessTokenClaims | MachineTokenClaims, [{ id, key }]: Keyring): string {
    return signJwt(claims, key, id)
  }

  /** The claims of a token that a key of its app signed and that is valid at `nowMs`. Does not check its user and session. */
  verify(token: string, nowMs: number, keyrings: Keyrings): { claims: AccessTokenClaims } | { fault: TokenFault } {
    return this.checkClaims(this.read(token, keyrings), nowMs)
  }

  /** Like `verify`, for machine tokens, which `verify` never accepts. */
  verifyMachine(token: string, nowMs: number, keyrings: Keyrings): { claims: MachineTokenClaims } | { fault: TokenFault } {
    return this.checkClaims(this.readMachine(token, keyrings), nowMs)
  }

  /** Checks the times and the issuer of what `read` or `readMachine` returned. */
  checkClaims<C extends AccessTokenClaims | MachineTokenClaims>(
    claims: C | undefined,
    nowMs: number,
  ): { claims: C } | { fault: TokenFault } {
    if (!claims) return { fault: 'invalid' }
    const now = Math.floor(nowMs / 1000)
    if (claims.exp > claims.iat + maxLifeSeconds) return { fault: 'invalid' }
    if (claims.exp <= now) return { fault: 'expired' }
    return claims.iss === this.issuer && hasBegun(claims, now + CLOCK_TOLERANCE_SECONDS) ? { claims } : { fault: 'invalid' }
  }

  /** The claims of a token that a key of its app signed, whatever its times. Use `verify` to decide about access. */
  read(token: string, keyrings: Keyrings): AccessTokenClaims | undefined {
    const claims: Claimed | undefined = this.#open(token, keyrings)
    return claims && isAccessTokenClaims(claims) ? claims : undefined
  }

  /** Like `read`, for machine tokens. */
  readMachine(token: string, keyrings: Keyrings): MachineTokenClaims | undefined {
    const claims: Claimed | undefined = this.#open(token, keyrings)
    return claims && isMachineTokenClaims(claims) ? claims : undefined
  }

  #open(token: string, keyrings: Keyrings): Claimed | undefined {
    const opened = openJwt(token, ({ keyId, payload }) => {
      const keyring = keyrings.ofApp(() => payload().app_id)
      return keysWithId(keyring, keyring.length > 1 ? keyId() : undefined).map(({ key }) => key)
    })
    return opened && (opened.header.typ ?? 'JWT') === 'JWT' ? opened.payload : undefined
  }
}

type Claimed = Partial<Record<keyof AccessTokenClaims | 'kind', unknown>>

/** A token of a user has a session and no `kind`. */
function isAccessTokenClaims(claims: Claimed): claims is AccessTokenClaims {
  return typeof claims.sid === 'string' && claims.kind === undefined && hasCommonClaims(claims)
}

function isMachineTokenClaims(claims: Claimed): claims is MachineTokenClaims {
  return claims.kind === 'service' && claims.sid === undefined && typeof claims.app_id === 'string' && hasCommonClaims(claims)
}

function hasCommonClaims({ uid, tv, exp, iat }: Claimed): boolean {
  return typeof uid === 'string' && Number.isInteger(tv) && Number.isInteger(exp) && Number.isInteger(iat)
}

function hasBegun({ nbf, iat }: Pick<AccessTokenClaims, 'nbf' | 'iat'>, latest: number): boolean {
  return iat <= latest && (nbf === undefined || (Number.isInteger(nbf) && nbf <= latest))
}

const uuid = '00000000-0000-7000-8000-000000000000'
const seconds = 1_800_000_000
const header = { alg: 'HS256', typ: 'JWT', kid: '00000000' }
const signatureBytes = 43

interface Content {
  appCode: string
  issuer: string
  /** The number of permissions, and their total length in characters. */
  codes: { count: number; characters: number }
}

/** The estimated length of an access token, for a member of an organization with names and addresses of usual length. */
export function projectTokenBytes({ appCode, issuer, codes }: Content): number {
  const claims: AccessTokenClaims = {
    app_id: uuid,
    app_code: appCode,
    uid: uuid,
    sub: uuid,
    email: 'x'.repeat(40),
    email_verified: false,
    first_name: 'x'.repeat(10),
    last_name: 'x'.repeat(10),
    org_id: uuid,
    org_slug: 'x'.repeat(20),
    tv: 10,
    sid: uuid,
    auth_time: seconds,
    amr: ['pwd', 'otp', 'mfa'],
    iss: issuer,
    aud: appCode,
    exp: seconds,
    nbf: seconds,
    iat: seconds,
    jti: uuid,
    roles: ['x'.repeat(20)],
    permissions: [],
  }
  // Each permission stands in quotes, with a comma after all but the last.
  const listed = codes.characters + 3 * codes.count
  return encodedBytes(JSON.stringify(header).length) + encodedBytes(JSON.stringify(claims).length + listed) + signatureBytes + 2
}

function encodedBytes(bytes: number): number {
  return Math.ceil((bytes * 4) / 3)
}
