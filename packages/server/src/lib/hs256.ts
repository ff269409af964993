import { createSecretKey, type KeyObject } from 'node:crypto'
import jwt, { type Jwt, type JwtPayload } from 'jsonwebtoken'

// The two kinds of JWT of this service differ in keys, type and claims; the signature of both is HMAC-SHA-256 and nothing else.
const algorithm = 'HS256'

/** What a JWT says of itself. Nothing of it is to be believed. */
export interface DecodedJwt {
  header: Jwt['header']
  payload: JwtPayload
}

/** Made once: given the text of a secret, each signature would make it again. */
export function keyOf(secret: string | ArrayBuffer): KeyObject {
  return createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : Buffer.from(secret))
}

export function signJwt(claims: object, key: KeyObject, keyId: string): string {
  return jwt.sign(claims, key, { algorithm, keyid: keyId })
}

/**
 * A JWT that one of its keys signed; undefined for anything else. `keysFor` chooses them by what the JWT claims to be. Its times are
 * left to the caller.
 */
export function openJwt(text: string, keysFor: (decoded: DecodedJwt) => readonly KeyObject[]): DecodedJwt | undefined {
  const decoded = decode(text)
  if (!decoded || 'crit' in decoded.header || 'b64' in decoded.header) return undefined
  return keysFor(decoded).some((key) => isSignedBy(key, text)) ? decoded : undefined
}

function decode(text: string): DecodedJwt | undefined {
  try {
    const decoded = jwt.decode(text, { complete: true })
    // A payload may be any JSON.
    return typeof decoded?.payload === 'object' && decoded.payload
      ? { header: decoded.header, payload: decoded.payload }
      : undefined
  } catch {
    return undefined
  }
}

function isSignedBy(key: KeyObject, text: string): boolean {
  try {
    jwt.verify(text, key, { algorithms: [algorithm], ignoreExpiration: true, ignoreNotBefore: true })
    return true
  } catch {
    return false
  }
}
