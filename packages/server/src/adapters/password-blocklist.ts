import { createRequire } from 'node:module'
import { MIN_PASSWORD_CHARACTERS } from '../lib/password.ts'

const require = createRequire(import.meta.url)
const size = 10_000
let blocklist: ReadonlySet<string> | undefined

/**
 * The 10,000 most common passwords of an allowed length, in lower case. The length check refuses shorter ones, which are two
 * thirds of the top of any such list. Read on first use (30 ms) and kept.
 */
export function commonPasswords(): ReadonlySet<string> {
  blocklist ??= new Set(listByFrequency().filter(isLongEnough).slice(0, size))
  return blocklist
}

function isLongEnough(password: string): boolean {
  return password.length >= MIN_PASSWORD_CHARACTERS
}

/** In lower case and ASCII, most common first. Loaded only here: a server that has nobody choose a password never needs it. */
function listByFrequency(): string[] {
  const words: typeof import('@zxcvbn-ts/language-common') = require('@zxcvbn-ts/language-common')
  return words.dictionary['passwords-common']
}
