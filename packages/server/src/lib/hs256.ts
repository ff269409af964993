import { createSecretKey, type KeyObject } from 'node:crypto'
import jwt, { type Jwt, type JwtPayload } from 'jsonwebtoken'
import { isRecord } from './collections.ts'

// The two kinds of JWT of this service differ in keys, type and claims. Both are signed only with HMAC-SHA-256.
const algorithm = 'HS256'

/** A JWT that one of our keys signed. */
interface OpenedJwt {
  header: Jwt['header']
  payload: JwtPayload
}

/** What a JWT claims to be before its signature is verified. Use it only to choose the keys to verify it with. */
interface ClaimedJwt {
  /** Parses the header, which verifying does too. */
  keyId(): string | undefined
  /** Parses the payload, which verifying does too. */
  payload(): JwtPayload
}

/** Call it once for each secret. Signing with the text of a secret would do the same work each time. */
export function keyOf(secret: string | ArrayBuffer): KeyObject {
  return createSecretKey(typeof secret === 'string' ? Buffer.from(secret) : Buffer.from(secret))
}

/** Signs claims that have an `iat`: without one, jsonwebtoken would add it to the object. */
export function signJwt(claims: object & { iat: number }, key: KeyObject, keyId: string): string {
  return jwt.sign(claims, key, { algorithm, keyid: keyId, mutatePayload: true })
}

/** Verifies a JWT with the keys that `keysFor` chooses. Undefined if none of them signed it. Does not check times. */
export function openJwt(text: string, keysFor: (claimed: ClaimedJwt) => readonly KeyObject[]): OpenedJwt | undefined {
  for (const key of keysFor({ keyId: () => claimedKeyId(text), payload: () => payloadOf(text) })) {
    const opened = verified(text, key)
    if (opened) return 'crit' in opened.header || 'b64' in opened.header ? undefined : opened
  }
  return undefined
}

function claimedKeyId(text: string): string | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(text.slice(0, text.indexOf('.')), 'base64url').toString())
    return isRecord(header) && typeof header.kid === 'string' ? header.kid : undefined
  } catch {
    return undefined
  }
}

function payloadOf(text: string): JwtPayload {
  try {
    const payload = jwt.decode(text)
    return typeof payload === 'object' && payload ? payload : {}
  } catch {
    return {}
  }
}

function verified(text: string, key: KeyObject): OpenedJwt | undefined {
  try {
    const { header, payload } = jwt.verify(text, key, {
      algorithms: [algorithm],
      complete: true,
      ignoreExpiration: true,
      ignoreNotBefore: true,
    })
    // A payload may be any JSON.
    return typeof payload === 'object' && payload ? { header, payload } : undefined
  } catch {
    return undefined
  }
}
