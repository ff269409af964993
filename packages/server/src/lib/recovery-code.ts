import { randomBytes } from 'node:crypto'
import { keyedDigest } from './digests.ts'

const count = 10
const length = 10
/** Crockford's base32, without letters that look like digits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const form = new RegExp(`^[${alphabet}]{${length}}$`)

/** Ten codes of 50 random bits each, as they are shown: `3k7qm-x9d2t`. */
export function newRecoveryCodes(): string[] {
  const codes = new Set<string>()
  while (codes.size < count) {
    const letters = Array.from(randomBytes(length), (byte) => alphabet[byte & 31]).join('')
    codes.add(`${letters.slice(0, length / 2)}-${letters.slice(length / 2)}`)
  }
  return [...codes]
}

/**
 * The digest of a recovery code that is stored for this user. Undefined if the text is not a code. Accepts any case, a missing
 * hyphen, and letters that are easily mistaken for others. The digest is keyed, since an attacker could find 50 bits from a plain
 * one.
 */
export function recoveryCodeDigest(key: Buffer, userId: string, typed: string): string | undefined {
  const code = typed.toLowerCase().replace(/[\s-]/g, '').replace(/o/g, '0').replace(/[il]/g, '1')
  return form.test(code) ? keyedDigest(key, 'recovery-code', userId, code) : undefined
}
