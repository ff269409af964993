import type { AccessTokenClaims } from './access-token.ts'

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
