import bcrypt from 'bcryptjs'
import { costsBetween, hashOfNobody } from '../../lib/password-hash.ts'
import type { BcryptEngine, DigestJob } from './bcrypt-engine.ts'
import { formatBcrypt, parseBcrypt } from './bcrypt-text.ts'

/** bcryptjs: the reference for the lanes, and their fallback. Runs one job at a time. */
export class ReferenceEngine implements BcryptEngine {
  async digest({ password, salt, cost, costAtLeast }: DigestJob): Promise<Uint8Array> {
    const { digest } = parseBcrypt(bcrypt.hashSync(password, formatBcrypt({ cost, salt, digest: new Uint8Array() })))
    for (const missing of costsBetween(cost, costAtLeast)) bcrypt.compareSync(password, hashOfNobody(missing))
    return digest
  }
}
