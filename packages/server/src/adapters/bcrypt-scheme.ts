import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { BcryptEngine } from './bcrypt/bcrypt-engine.ts'
import { bcryptBody, formatBcrypt, parseBcrypt } from './bcrypt/bcrypt-text.ts'
import type { HashCheck, PasswordScheme } from './password-scheme.ts'

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
