import { hash } from 'node:crypto'
import type { TokenPrefix } from '@gatehouse/sdk/protocol'
import { randomText } from './random.ts'

export { TOKEN_PREFIXES } from '@gatehouse/sdk/protocol'

/** 256 random bits in the URL-safe alphabet, after a prefix that tells what a leaked token was. */
export function newOpaqueToken(prefix: TokenPrefix): string {
  return `${prefix}${randomText(32)}`
}

/** The digest that is stored. A token holds 256 random bits, so a plain SHA-256 does not reveal it. */
export function hashOpaqueToken(token: string): string {
  return hash('sha256', token, 'base64url')
}
