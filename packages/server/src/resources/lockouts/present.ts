import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { lockoutRecord } from './schema.ts'

/** A counter of failed tries, as an admin sees it. */
export interface LockoutView {
  key: string
  /** Null if no user has the address, since the service stores only a digest of it. */
  email: string | null
  /** Null for a device and for a second factor. */
  pool: string | null
  /** Null until the failures have led to a lock. */
  lockedUntil: number | null
  failures: number
}

export function presentLockout({ key, email, pool, lockedUntil, failures }: LockoutView): z.output<typeof lockoutRecord> {
  return { key, email, pool, locked_until: lockedUntil === null ? null : iso(lockedUntil), failures }
}
