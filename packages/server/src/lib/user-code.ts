import { randomInt } from 'node:crypto'
import { keyedDigest } from './keyed-digest.ts'

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
