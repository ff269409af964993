import { randomBytes, timingSafeEqual } from 'node:crypto'
import { bcryptBody, formatBcrypt, parseBcrypt } from './bcrypt/bcrypt-text.ts'
import type { BcryptEngine } from './bcrypt/engines.ts'

/** A way to hash passwords. The prefix of a hash tells which scheme made it. */
interface PasswordScheme {
  prefixes: readonly string[]
  /** Takes as long as a hash of bcrypt at cost `costAtLeast` takes, or longer. */
  verify(hash: string, password: string, costAtLeast: number): Promise<HashCheck>
}

interface HashCheck {
  matches: boolean
  /** The rounds of bcrypt that were run. */
  rounds: number
}

/** Finds the scheme of a hash. Throws if there is none. */
export function schemeOf(hash: string, schemes: readonly PasswordScheme[]): PasswordScheme {
  const found = schemes.find(({ prefixes }) => prefixes.some((prefix) => hash.startsWith(prefix)))
  if (!found) throw new Error('the hash has an unknown scheme')
  return found
}

const saltBytes = 16

/** Hashes with bcrypt on either engine. */
export class BcryptScheme implements PasswordScheme {
  readonly prefixes = ['$2a$', '$2b$', '$2y$']
  readonly #engine: BcryptEngine

  constructor(engine: BcryptEngine) {
    this.#engine = engine
  }

  async hash(password: string, cost: number): Promise<string> {
    const salt = randomBytes(saltBytes)
    const digest = await this.#engine.digest({ password, salt, cost, costAtLeast: cost })
    return formatBcrypt({ cost, salt, digest })
  }

  /** Pads a hash of a lower cost. Otherwise the time would reveal whose hash was imported, and so which accounts exist. */
  async verify(hash: string, password: string, costAtLeast: number): Promise<HashCheck> {
    const { salt, cost } = parseBcrypt(hash)
    const digest = await this.#engine.digest({ password, salt, cost, costAtLeast })
    const made = Buffer.from(bcryptBody(formatBcrypt({ cost, salt, digest })))
    const kept = Buffer.from(bcryptBody(hash))
    return { matches: made.length === kept.length && timingSafeEqual(made, kept), rounds: 2 ** Math.max(cost, costAtLeast) }
  }
}
