import { createHmac } from 'node:crypto'
import { normalizeEmail } from './email.ts'

export const MIN_PASSWORD_CHARACTERS = 8
export const MAX_PASSWORD_BYTES = 1_024

interface PasswordFault {
  code: 'too_short' | 'too_long' | 'too_common' | 'invalid_value'
  message: string
}

/**
 * Why a new password is refused, or undefined. `blocklist` holds common passwords in lower case; the message never
 * holds the password.
 */
export function passwordFault(password: string, email: string, blocklist: ReadonlySet<string>): PasswordFault | undefined {
  if ([...password].length < MIN_PASSWORD_CHARACTERS)
    return { code: 'too_short', message: `must have at least ${MIN_PASSWORD_CHARACTERS} characters` }
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    return { code: 'too_long', message: `must have at most ${MAX_PASSWORD_BYTES} bytes` }
  if (normalizeEmail(password) === email) return { code: 'invalid_value', message: 'must not be the e-mail address' }
  if (blocklist.has(password.toLowerCase())) return { code: 'too_common', message: 'is one of the most common passwords' }
  return undefined
}

/** bcrypt reads only this many bytes of a password. */
const bcryptMaxBytes = 72
const longPasswordKey = 'gatehouse-long-password'
/** Hashes above this cost would hold a worker thread for minutes; they are refused at import and never verified. */
const maxVerifiableCost = 15

/**
 * The input of bcrypt for a password: the password itself, or a digest of all of it if bcrypt would cut it. For short passwords,
 * plain bcrypt hashes from an import therefore match.
 */
export function bcryptInput(password: string): string {
  if (Buffer.byteLength(password) <= bcryptMaxBytes) return password
  return createHmac('sha384', longPasswordKey).update(password).digest('base64')
}

/** The cost of a bcrypt hash. Undefined if the text is not a hash that may be verified. */
export function bcryptCost(hash: string): number | undefined {
  const match = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(hash)
  const cost = Number(match?.[1])
  return match && cost >= 4 && cost <= maxVerifiableCost ? cost : undefined
}

/**
 * The costs of the bcrypt runs that, after one of cost `from`, add up to the time of one of cost `to`. Each step doubles the
 * rounds, and 2^from + 2^from + 2^(from+1) + … + 2^(to-1) = 2^to.
 */
export function costsBetween(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
}

/** A hash of this cost without a known password. Comparing with it takes as long as with any other hash. */
export function hashOfNobody(cost: number): string {
  return `$2b$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`
}
