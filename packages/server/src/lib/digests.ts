import { createHmac, createSecretKey, type Hmac, hash, type KeyObject } from 'node:crypto'

/** With raw bytes instead of a `KeyObject`, `createHmac` is several times slower. */
const prepared = new WeakMap<Buffer, KeyObject>()

/** A digest that only this service can compute. Use it for stored keys that must not reveal which address they stand for. */
export function keyedDigest(key: Buffer, purpose: string, ...parts: readonly string[]): string {
  const object = prepared.get(key) ?? createSecretKey(key)
  prepared.set(key, object)
  return createHmac('sha256', object)
    .update([`gatehouse-${purpose}`, ...parts].join('\0'))
    .digest('base64url')
}

const blockBytes = 64
const digestBytes = 32

/**
 * HMAC-SHA-256 (RFC 2104) of many short texts with one key. `createHmac` makes an object for each text, which costs three times
 * what the two hashes do. Verifying the audit consists of little else.
 */
export class HmacSha256 {
  /** The padded key, and then the text. */
  #inner = Buffer.alloc(4_096)
  readonly #outer = Buffer.alloc(blockBytes + digestBytes)
  readonly #key: Buffer

  /** Takes a key of at most 64 bytes. */
  constructor(key: Buffer) {
    if (key.length > blockBytes) throw new Error('the key is too long')
    this.#key = key
    for (let index = 0; index < blockBytes; index += 1) {
      const byte = key[index] ?? 0
      this.#inner[index] = byte ^ 0x36
      this.#outer[index] = byte ^ 0x5c
    }
  }

  /** The digest in base64url. */
  of(text: string): string {
    const most = blockBytes + 3 * text.length
    if (most > this.#inner.length) this.#inner = Buffer.concat([this.#inner.subarray(0, blockBytes)], 2 * most)
    const length = this.#inner.write(text, blockBytes)
    hash('sha256', this.#inner.subarray(0, blockBytes + length), 'buffer').copy(this.#outer, blockBytes)
    return hash('sha256', this.#outer, 'base64url')
  }

  /** For a text that comes in parts. */
  begin(): Hmac {
    return createHmac('sha256', this.#key)
  }
}
