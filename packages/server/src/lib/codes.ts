import { randomInt } from 'node:crypto'
import { keyedDigest } from './digests.ts'

/**
 * The code of six digits that a mail carries. It is made from a secret that only the browser that asked for the mail holds, so it
 * is stored nowhere, and is worth nothing in another browser.
 */
export function codeOfMail(encryptionKey: Buffer, codeKey: string): string {
  const digest = Buffer.from(keyedDigest(encryptionKey, 'mail-code', codeKey), 'base64url')
  return String(digest.readUIntBE(0, 6) % 1_000_000).padStart(6, '0')
}

/** Consonants make no words, and none of these looks like another one. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8

/** The short code that a person types: 20 to the power of 8 possibilities, for ten minutes and few tries. */
export function newUserCode(): string {
  const code = Array.from({ length }, () => letters[randomInt(letters.length)]).join('')
  return `${code.slice(0, length / 2)}-${code.slice(length / 2)}`
}

/** The digest that is stored. The code is short, so only a key keeps it from being guessed. Undefined for what cannot be a code. */
export function hashOfUserCode(encryptionKey: Buffer, typed: string): string | undefined {
  const code = typed.toUpperCase().replace(/[\s-]/g, '')
  const isCode = code.length === length && [...code].every((letter) => letters.includes(letter))
  return isCode ? keyedDigest(encryptionKey, 'user-code', code) : undefined
}
