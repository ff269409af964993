import type { CheckedPayload } from './claims.ts'

interface Entry {
  readonly token: string
  readonly payload: CheckedPayload
}

/**
 * Verified tokens in two generations. When the young generation is full, it becomes the old one, and the old one is dropped,
 * except for tokens that were used in the meantime. Holds at most `most` tokens, which is at least 2.
 */
export class SeenTokens {
  readonly #most: number
  #young = new Map<number, Entry>()
  #old = new Map<number, Entry>()

  constructor(most: number) {
    this.#most = most
  }

  /** Returns the payload of exactly this token, or undefined. */
  get(token: string): CheckedPayload | undefined {
    const key = keyOf(token)
    const young = this.#young.get(key)
    const entry = young ?? this.#old.get(key)
    // Compare the whole token: the key covers only its end.
    if (entry?.token !== token) return undefined
    if (!young) this.add(token, entry.payload)
    return entry.payload
  }

  add(token: string, payload: CheckedPayload): void {
    if (this.#young.size >= this.#most >> 1) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(keyOf(token), { token, payload })
  }
}

/**
 * Returns the end of the signature as a number, which a map finds three times as fast as a part of a string. If two tokens have
 * one key, the later one stays.
 */
function keyOf(token: string): number {
  let key = 0
  for (let i = token.length - 5; i < token.length; i += 1) key = (key << 6) ^ token.charCodeAt(i)
  return key
}
