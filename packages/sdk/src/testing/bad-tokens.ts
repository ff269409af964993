import type { AuthErrorCode } from '../errors.ts'
import { encode, headerFor, signParts } from './sign-token.ts'

/** A token that a backend must refuse. */
export interface BadToken {
  /** What is wrong with it, for the title of a test. */
  readonly name: string
  readonly token: string
  /** The code with which `auth.verify` refuses it. */
  readonly code: AuthErrorCode
  /** What an attacker could do at a backend that accepts it. */
  readonly harm: string
  /** Whether only a holder of the secret can make it. If not, anybody who has a good token can. */
  readonly needsSecret: boolean
}

type Row = [code: AuthErrorCode, name: string, token: string, harm: string]

/**
 * Makes one token for each way of being wrong, from a good token and as long-lived. `secret` is the one that signed it; without
 * it, the tokens that need the secret are left out. No token is too long, because Node itself refuses such a header.
 *
 * @example
 * ```ts
 * import { createBadTokens } from '@gatehouse/sdk/testing'
 *
 * for (const bad of createBadTokens(good)) {
 *   const response = await fetch('http://localhost:8080/invoices', { headers: { authorization: `Bearer ${bad.token}` } })
 *   console.log(bad.name, response.status) // 401
 * }
 * ```
 */
export function createBadTokens(good: string, secret?: string): BadToken[] {
  const made = (rows: Row[], needsSecret: boolean) =>
    rows.map(([code, name, token, harm]) => ({ name, token, code, harm, needsSecret }))
  return [...made(rowsOfAnybody(good), false), ...(secret === undefined ? [] : made(rowsOfInsider(good, secret), true))]
}

/**
 * Makes a machine token with the permissions of a user's token. `auth.verify` accepts it; a guard for users refuses it.
 *
 * @example
 * ```ts
 * const token = createMachineToken(good, secret)
 * ```
 */
export function createMachineToken(good: string, secret: string): string {
  const { header, claims } = decode(good)
  const ofUser = {
    sid: undefined,
    email: undefined,
    first_name: undefined,
    last_name: undefined,
    auth_time: undefined,
    amr: undefined,
  }
  return signParts(encode(header), encode({ ...claims, ...ofUser, kind: 'service', roles: ['service'] }), secret)
}

function decode(token: string): { header: Record<string, unknown>; claims: Record<string, unknown> } {
  const [header, claims] = token.split('.', 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  return { header, claims }
}

function rowsOfAnybody(good: string): Row[] {
  const { header, claims } = decode(good)
  const [, payload = ''] = good.split('.')
  const another = 'a secret that nobody at the service knows'
  const ofAnother = (members: object) => signParts(encode({ ...header, ...members }), payload, another)
  const anybody = 'Anyone can forge a token for any user with any permission.'
  return [
    ['TOKEN_MALFORMED', 'a word instead of a token', 'nonsense', 'Anyone gets in with a made-up word.'],
    ['TOKEN_MALFORMED', 'a token without its signature part', good.split('.').slice(0, 2).join('.'), anybody],
    [
      'TOKEN_MALFORMED',
      'a token with padding',
      `${good}=`,
      'One token has several spellings, so a list of revoked tokens misses it.',
    ],
    ['TOKEN_ALG', 'a token that says it needs no signature', `${encode({ ...header, alg: 'none' })}.${payload}.`, anybody],
    ['TOKEN_SIGNATURE', 'a token signed with another secret', ofAnother({}), anybody],
    ['TOKEN_SIGNATURE', 'a token that brings its own key', ofAnother({ kid: headerFor(another).kid }), anybody],
    ['TOKEN_SIGNATURE', 'a token whose signature was cut off', good.slice(0, good.lastIndexOf('.') + 1), anybody],
    [
      'TOKEN_SIGNATURE',
      'a token whose claims were changed afterwards',
      good.replace(payload, encode({ ...claims, roles: ['system_admin'] })),
      'Every user can give themselves any role, and be any other user.',
    ],
  ]
}

function rowsOfInsider(good: string, secret: string): Row[] {
  const { header, claims } = decode(good)
  const [, payload = ''] = good.split('.')
  const iat = Number(claims.iat)
  const exp = Number(claims.exp)
  const withHeader = (members: object, hash?: string) => signParts(encode({ ...header, ...members }), payload, secret, hash)
  const withClaims = (members: object) => signParts(encode(header), encode({ ...claims, ...members }), secret)
  const confused = 'The token chooses how it is verified, which is how forged ones get in.'
  const forever = 'A leaked token opens the backend forever.'
  const early = 'A token that is meant for later works now, and longer than it should.'
  const foreign = 'Tokens of other apps of the organization work here: a token that leaks there opens this app.'
  const unchecked =
    'The backend reads something that the service did not write; code behind it decides on a wrong type or on nothing.'
  return [
    ['TOKEN_MALFORMED', 'a payload that is not an object', signParts(encode(header), encode([claims]), secret), unchecked],
    ['TOKEN_ALG', 'a token signed with HMAC-SHA-512', withHeader({ alg: 'HS512' }, 'sha512'), confused],
    ['TOKEN_ALG', 'a token that claims an RSA signature', withHeader({ alg: 'RS256' }), confused],
    [
      'TOKEN_ALG',
      'a token of another kind',
      withHeader({ typ: 'consumer+jwt' }),
      'The assertion of a backend to the service passes as the token of a user.',
    ],
    [
      'TOKEN_ALG',
      'a token with an extension that must be understood',
      withHeader({ crit: ['exp'] }),
      'A limit that the token marks as critical is ignored.',
    ],
    [
      'TOKEN_EXPIRED',
      'a token that expired an hour ago',
      withClaims({ iat: iat - 4500, nbf: iat - 4500, exp: iat - 3600 }),
      forever,
    ],
    ['TOKEN_NOT_YET_VALID', 'a token that is not valid yet', withClaims({ nbf: exp, exp: exp + 900 }), early],
    ['TOKEN_NOT_YET_VALID', 'a token issued in the future', withClaims({ iat: exp, exp: exp + 900 }), early],
    [
      'TOKEN_ISSUER',
      'a token of another issuer',
      withClaims({ iss: 'somebody-else' }),
      'Another service that shares the secret, such as a test installation, lets its users in here.',
    ],
    [
      'TOKEN_AUDIENCE',
      'a genuine token of another app',
      withClaims({ aud: 'other-app', app_code: 'other-app', app_id: claims.jti }),
      foreign,
    ],
    ['TOKEN_AUDIENCE', 'a token for a list of apps', withClaims({ aud: [claims.aud, 'other-app'] }), foreign],
    ['APP_MISMATCH', 'a token of another app that names this audience', withClaims({ app_code: 'other-app' }), foreign],
    ['APP_MISMATCH', 'a token without an app', withClaims({ app_id: undefined }), foreign],
    ['TOKEN_CLAIMS', 'a token that never expires', withClaims({ exp: undefined }), forever],
    ['TOKEN_CLAIMS', 'a token with an expiry that is a string', withClaims({ exp: String(exp) }), forever],
    ['TOKEN_CLAIMS', 'a token without a user', withClaims({ uid: undefined }), unchecked],
    [
      'TOKEN_CLAIMS',
      'a token without a version',
      withClaims({ tv: undefined }),
      'It cannot be revoked: a suspended user keeps access until it expires.',
    ],
    ['TOKEN_CLAIMS', 'a token whose permissions are a string', withClaims({ permissions: 'invoices:read' }), unchecked],
  ]
}
