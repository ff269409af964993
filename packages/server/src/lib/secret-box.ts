import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

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
