import type { Claims } from '../claims.ts'
import type { AuthErrorCode } from '../errors.ts'
import { encode, headerFor, signParts } from './sign-token.ts'

/** A token that a backend must refuse. */
export interface BadToken {
  /** The fault, for the title of a test. */
  readonly name: string
  readonly token: string
  /** The code of `auth.verify`. */
  readonly code: AuthErrorCode
}

const YEAR_SEC = 365 * 86_400

/**
 * Every way of being wrong, each for years: a test that moves its clock finds them wrong in the same way. None is too long: Node answers
 * such a header itself.
 */
export function createBadTokens(claims: Claims, secret: string): BadToken[] {
  const good = { ...claims, exp: claims.iat + 10 * YEAR_SEC }
  const payload = encode(good)
  const header = headerFor(secret)
  const genuine = signParts(encode(header), payload, secret)
  const unsigned = genuine.slice(0, genuine.lastIndexOf('.') + 1)
  const withHeader = (members: object, hash?: string) => signParts(encode({ ...header, ...members }), payload, secret, hash)
  const withClaims = (members: object) => signParts(encode(header), encode({ ...good, ...members }), secret)
  const another = `${secret} of another`

  const tokens: [AuthErrorCode, string, string][] = [
    ['TOKEN_MALFORMED', 'no token but a word', 'nonsense'],
    ['TOKEN_MALFORMED', 'a token without its signature part', genuine.split('.').slice(0, 2).join('.')],
    ['TOKEN_MALFORMED', 'a token with padding', `${genuine}=`],
    ['TOKEN_MALFORMED', 'a payload that is no object', signParts(encode(header), encode([good]), secret)],
    ['TOKEN_ALG', 'a token that says it needs no signature', `${encode({ ...header, alg: 'none' })}.${payload}.`],
    ['TOKEN_ALG', 'a token signed with HMAC-SHA-512', withHeader({ alg: 'HS512' }, 'sha512')],
    ['TOKEN_ALG', 'a token that claims an RSA signature', withHeader({ alg: 'RS256' })],
    ['TOKEN_ALG', 'a token of another kind', withHeader({ typ: 'consumer+jwt' })],
    ['TOKEN_ALG', 'a token with an extension that must be understood', withHeader({ crit: ['exp'] })],
    ['TOKEN_SIGNATURE', 'a token signed with another secret', signParts(encode(header), payload, another)],
    [
      'TOKEN_SIGNATURE',
      'a token that brings its own key',
      signParts(encode({ ...header, kid: headerFor(another).kid }), payload, another),
    ],
    ['TOKEN_SIGNATURE', 'a token whose signature was cut off', unsigned],
    [
      'TOKEN_SIGNATURE',
      'a token whose claims were changed afterwards',
      genuine.replace(payload, encode({ ...good, roles: ['system_admin'] })),
    ],
    [
      'TOKEN_EXPIRED',
      'a token that expired an hour ago',
      withClaims({ iat: good.iat - 4500, nbf: good.iat - 4500, exp: good.iat - 3600 }),
    ],
    ['TOKEN_NOT_YET_VALID', 'a token that is not valid yet', withClaims({ nbf: good.exp, exp: good.exp + 900 })],
    ['TOKEN_NOT_YET_VALID', 'a token issued in the future', withClaims({ iat: good.exp, exp: good.exp + 900 })],
    ['TOKEN_ISSUER', 'a token of another issuer', withClaims({ iss: 'somebody-else' })],
    [
      'TOKEN_AUDIENCE',
      'a genuine token of another app',
      withClaims({ aud: 'other-app', app_code: 'other-app', app_id: good.jti }),
    ],
    ['TOKEN_AUDIENCE', 'a token for a list of apps', withClaims({ aud: [good.aud, 'other-app'] })],
    ['APP_MISMATCH', 'a token of another app that names this audience', withClaims({ app_code: 'other-app' })],
    ['APP_MISMATCH', 'a token without an app', withClaims({ app_id: undefined })],
    ['TOKEN_CLAIMS', 'a token that never expires', withClaims({ exp: undefined })],
    ['TOKEN_CLAIMS', 'a token with an expiry that is a text', withClaims({ exp: String(good.exp) })],
    ['TOKEN_CLAIMS', 'a token of nobody', withClaims({ uid: undefined })],
    ['TOKEN_CLAIMS', 'a token without a version', withClaims({ tv: undefined })],
    ['TOKEN_CLAIMS', 'a token whose permissions are a text', withClaims({ permissions: 'invoices:read' })],
  ]
  return tokens.map(([code, name, token]) => ({ name, token, code }))
}
