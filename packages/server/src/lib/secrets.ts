import { createCipheriv, createDecipheriv, createHash, createSecretKey, hash, type KeyObject, randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'

const nonceBytes = 12
const tagBytes = 16

function keyId(key: Buffer): string {
  return createHash('sha256').update('gatehouse-box:').update(key).digest('hex').slice(0, 8)
}

/**
 * Seals small secrets for storage with AES-256-GCM under `AUTH_ENCRYPTION_KEY`. `context` names the place of the box (table and
 * row), so a box that is copied into another row does not open there.
 */
export class SecretBox {
  readonly #keys: Map<string, KeyObject>
  readonly #current: { id: string; key: KeyObject }

  /** Keys of 32 bytes; the first seals, all of them open. */
  constructor(keys: readonly [Buffer, ...Buffer[]]) {
    this.#keys = new Map(keys.map((key) => [keyId(key), createSecretKey(key)]))
    this.#current = { id: keyId(keys[0]), key: createSecretKey(keys[0]) }
  }

  seal(plain: string, context: string): string {
    const nonce = randomBytes(nonceBytes)
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${this.#current.id}.${sealed.toString('base64url')}`
  }

  /** Whether the key that a box was sealed under is configured. */
  hasKeyOf(box: string): boolean {
    const [id = ''] = box.split('.')
    return this.#keys.has(id)
  }

  /** Throws when the box was sealed under a key that is no longer configured, for another context, or was changed. */
  open(box: string, context: string): string {
    const [id = '', body = ''] = box.split('.')
    const key = this.#keys.get(id)
    if (!key) throw new Error('sealed under a key that is not configured')
    const sealed = Buffer.from(body, 'base64url')
    const options = { authTagLength: tagBytes }
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), options).setAAD(Buffer.from(context))
    decipher.setAuthTag(sealed.subarray(-tagBytes))
    return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8')
  }
}

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
