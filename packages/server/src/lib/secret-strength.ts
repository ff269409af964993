import { hash } from 'node:crypto'
import { createRequire } from 'node:module'

// Required where they are used: most commands of the program judge no secret, and the words are 3 MB.
const require = createRequire(import.meta.url)

/** The least number of guesses that is safe: a billion billion guesses a second would take eleven days. */
const enoughGuesses = 1e24
/** Only this many characters are judged. The whole secret is never easier to guess, and the estimate takes quadratic time. */
const judgedCharacters = 100

/**
 * Whether an attacker can guess a secret. Anyone with a token that it signed can try guesses offline. Takes up to a quarter of a
 * second, mostly for loading common words.
 */
export function isGuessable(secret: string): boolean {
  const { ZxcvbnFactory }: typeof import('@zxcvbn-ts/core') = require('@zxcvbn-ts/core')
  const words: typeof import('@zxcvbn-ts/language-common') = require('@zxcvbn-ts/language-common')
  const { adjacencyGraphs: graphs, dictionary } = words
  return new ZxcvbnFactory({ graphs, dictionary }).check(secret.slice(0, judgedCharacters)).guesses < enoughGuesses
}

/** Whether a key of 32 bytes is the secret, a part of it or its digest, in any of the usual ways to turn a text into a key. */
export function isMadeOf(key: Buffer, secret: string): boolean {
  const readings = (['utf8', 'base64', 'hex'] as const).map((encoding) => Buffer.from(secret, encoding))
  return [...readings, ...readings.map((bytes) => hash('sha256', bytes, 'buffer'))].some((bytes) => bytes.includes(key))
}
