import { randomBytes } from 'node:crypto'
import { keyedDigest } from './keyed-digest.ts'

const count = 10
const length = 10
/** Crockford's base32: no letter that is taken for a digit. */
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
 * What is stored of a recovery code of this user, or undefined when the text is none: in any case, with or without the hyphen, and
 * with the letters that are easily taken for others. Keyed, since 50 bits could be guessed back from a plain digest.
 */
export function recoveryCodeDigest(key: Buffer, userId: string, typed: string): string | undefined {
  const code = typed.toLowerCase().replace(/[\s-]/g, '').replace(/o/g, '0').replace(/[il]/g, '1')
  return form.test(code) ? keyedDigest(key, 'recovery-code', userId, code) : undefined
}
