import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** Signs two parts as they stand, whatever they are. */
export function signParts(header: string, payload: string, secret: string | Uint8Array, hash = 'sha256'): string {
  return `${header}.${payload}.${createHmac(hash, secret).update(`${header}.${payload}`).digest('base64url')}`
}

export function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** The header that the service writes. */
export function headerFor(secret: string): { alg: string; typ: string; kid: string } {
  const kid = createHash('sha256').update(`gatehouse-kid:${secret}`).digest('hex').slice(0, 8)
  return { alg: 'HS256', typ: 'JWT', kid }
}

/** Whether a consumer that holds the secret signed this assertion (docs/revocation.md); its times are not looked at. */
export function isAssertion(assertion: string, secret: string): boolean {
  const [header = '', payload = ''] = assertion.split('.')
  const expected = signParts(header, payload, new Uint8Array(hkdfSync('sha256', secret, '', 'gatehouse-consumer', 32)))
  return expected.length === assertion.length && timingSafeEqual(Buffer.from(expected), Buffer.from(assertion))
}
