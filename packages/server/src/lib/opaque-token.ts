import { hash, randomBytes } from 'node:crypto'
import type { TokenPrefix } from '@gatehouse/sdk/protocol'

export { TOKEN_PREFIXES } from '@gatehouse/sdk/protocol'

/** 256 random bits, in the URL-safe alphabet, behind a prefix that tells a leaked one what it was. */
export function newOpaqueToken(prefix: TokenPrefix): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`
}

/** The digest that is stored. A token holds 256 random bits, so nobody can find it from a plain SHA-256. */
export function hashOpaqueToken(token: string): string {
  return hash('sha256', token, 'base64url')
}
