import { hash, randomFillSync } from 'node:crypto'
import type { TokenPrefix } from '@gatehouse/sdk/protocol'

/** Drawn from the system's generator for many callers at once: a draw costs more than all else that is done with its bytes. */
const pool = Buffer.allocUnsafeSlow(4_096)
let used = pool.length

/** Fills `target`, of at most 4 KiB, with random bytes that nobody else gets. */
export function fillRandom(target: Buffer): Buffer {
  if (used + target.length > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const from = used
  used += pool.copy(target, 0, from, from + target.length)
  pool.fill(0, from, used)
  return target
}

/** `size` random bytes as base64url. */
export function randomText(size: number): string {
  return fillRandom(Buffer.allocUnsafe(size)).toString('base64url')
}

export { TOKEN_PREFIXES } from '@gatehouse/sdk/protocol'

/** 256 random bits in the URL-safe alphabet, after a prefix that tells what a leaked token was. */
export function newOpaqueToken(prefix: TokenPrefix): string {
  return `${prefix}${randomText(32)}`
}

/** The digest that is stored. A token holds 256 random bits, so a plain SHA-256 does not reveal it. */
export function hashOpaqueToken(token: string): string {
  return hash('sha256', token, 'base64url')
}
