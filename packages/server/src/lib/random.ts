import { randomFillSync } from 'node:crypto'

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
