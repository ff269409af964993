// Makes tokens that the service would not issue, signed with any key a forger may
// have. It does not use the service's own library.
import { createHmac } from 'node:crypto'
import { ACCESS_SECRET } from './client.ts'

const hashes = { HS256: 'sha256', HS384: 'sha384', HS512: 'sha512' } as const

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** A JWT with these claims, by default signed with the secret that every consumer holds. */
export function forgeToken(
  claims: Record<string, unknown>,
  {
    secret = ACCESS_SECRET,
    header = {},
  }: { secret?: string | Uint8Array; header?: { alg?: keyof typeof hashes; [name: string]: unknown } } = {},
): string {
  const whole = { alg: 'HS256' as const, typ: 'JWT', ...header }
  const signed = `${encode(whole)}.${encode(claims)}`
  return `${signed}.${createHmac(hashes[whole.alg], secret).update(signed).digest('base64url')}`
}
