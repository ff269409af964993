import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { MIN_PASSWORD_CHARACTERS } from '../lib/password-policy.ts'

const size = 10_000
let blocklist: ReadonlySet<string> | undefined

/**
 * The 10,000 commonest of the passwords that are long enough to be chosen here, in lower case: the shorter ones, two thirds of the
 * head of any such list, are refused for their length. Read on first use, 30 ms, and kept.
 */
export function commonPasswords(): ReadonlySet<string> {
  blocklist ??= new Set(listByFrequency().filter(isLongEnough).slice(0, size))
  return blocklist
}

function isLongEnough(password: string): boolean {
  return password.length >= MIN_PASSWORD_CHARACTERS
}

/** In lower case and ASCII, the commonest first. Required only here, so that a server without the list does not hold it in memory. */
function listByFrequency(): string[] {
  const require = createRequire(import.meta.url)
  const path = require.resolve('@zxcvbn-ts/language-common')
  const { dictionary }: typeof import('@zxcvbn-ts/language-common') = require(path)
  // Most of the 3 MB is words that are not looked at.
  for (const file of Object.keys(require.cache)) if (file.startsWith(dirname(path))) delete require.cache[file]
  return dictionary['passwords-common']
}
