import { createHmac, hash } from 'node:crypto'
import { assembleAuth, type LocalAuth } from './auth.ts'
import { type AuthOptions, readConfig } from './config.ts'
import { openNodeKeys } from './node-platform.ts'
import { keyIdOf } from './protocol.ts'

// Tokens for the tests, signed without any code of the package except for the `kid`, of which docs/guard-a-backend/tokens.md has
// two samples.

export const SECRET = 'the secret that the tests share with nobody'
export const PREVIOUS_SECRET = 'the secret that the tests had before, ünd ä bit'
export const KID = createKid(SECRET)
export const NOW = 1_790_000_000

export const CLAIMS = {
  app_id: '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c11',
  app_code: 'billing',
  uid: '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c22',
  email: 'ada@example.com',
  first_name: 'Ada',
  last_name: null,
  tv: 3,
  sid: '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c33',
  iss: 'gatehouse',
  aud: 'billing',
  exp: NOW + 900,
  nbf: NOW,
  iat: NOW,
  jti: '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c44',
  roles: ['base_user'],
  permissions: ['invoices:read', 'users:read_self'],
}

export function createKid(secret: string): string {
  return keyIdOf(secret, hash)
}

export function encode(part: unknown): string {
  return Buffer.from(typeof part === 'string' || part instanceof Uint8Array ? part : JSON.stringify(part)).toString('base64url')
}

/** Signs two parts exactly as they are given. */
export function signParts(header: string, payload: string, secret: string = SECRET, hash = 'sha256'): string {
  return `${header}.${payload}.${createHmac(hash, secret).update(`${header}.${payload}`).digest('base64url')}`
}

/** Signs the claims of a good token with some changed; `undefined` leaves one out. A string becomes the text of the payload. */
export function signToken(claims: object | string = {}, header: object = {}, secret: string = SECRET): string {
  const payload = typeof claims === 'string' ? claims : { ...CLAIMS, ...claims }
  return signParts(encode({ alg: 'HS256', typ: 'JWT', kid: createKid(secret), ...header }), encode(payload), secret)
}

/** Creates the public verifier, without the feed, with the clock of the tests, on Node or through WebCrypto. */
export function buildAuth(options: AuthOptions = {}, platform: 'node' | 'web' = 'node'): LocalAuth {
  const usual: AuthOptions = {
    secret: SECRET,
    appCode: 'billing',
    issuer: 'gatehouse',
    revocation: { mode: 'off' },
    logger: false,
  }
  const openNow = platform === 'node' ? openNodeKeys : () => undefined
  return assembleAuth(readConfig({ ...usual, now: () => NOW * 1000, ...options }, openNow))
}
