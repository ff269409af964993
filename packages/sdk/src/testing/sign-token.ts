import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { CONSUMER_KEY_BYTES, CONSUMER_KEY_INFO, keyIdOf } from '../protocol.ts'

/** Signs two parts exactly as they are given. */
export function signParts(header: string, payload: string, secret: string | Uint8Array, hash = 'sha256'): string {
  return `${header}.${payload}.${createHmac(hash, secret).update(`${header}.${payload}`).digest('base64url')}`
}

export function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** Returns the header that the service writes. */
export function headerFor(secret: string): { alg: string; typ: string; kid: string } {
  const kid = keyIdOf(secret, (algorithm, text) => createHash(algorithm).update(text).digest('hex'))
  return { alg: 'HS256', typ: 'JWT', kid }
}

/**
 * Whether a consumer that holds the secret signed this assertion (docs/guard-a-backend/revocation.md). Does not check its times.
 */
export function isAssertion(assertion: string, secret: string): boolean {
  const [header = '', payload = ''] = assertion.split('.')
  const key = new Uint8Array(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, CONSUMER_KEY_BYTES))
  const expected = signParts(header, payload, key)
  return expected.length === assertion.length && timingSafeEqual(Buffer.from(expected), Buffer.from(assertion))
}
