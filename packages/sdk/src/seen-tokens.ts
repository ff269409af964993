import type { CheckedPayload } from './claims.ts'

interface Entry {
  readonly token: string
  readonly payload: CheckedPayload
}

/**
 * Tokens that were verified, in two generations: when the young one is full it becomes the old one, and what the old one held is
 * forgotten unless it was asked for meanwhile. Never more than `most` tokens, which is at least 2.
 */
export class SeenTokens {
  readonly #most: number
  #young = new Map<number, Entry>()
  #old = new Map<number, Entry>()

  constructor(most: number) {
    this.#most = most
  }

  /** The payload of exactly this token. */
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

/** The end of the signature as a number: a map finds by it three times as fast as by a part of a string. Of two tokens with one key the later stays. */
function keyOf(token: string): number {
  let key = 0
  for (let i = token.length - 5; i < token.length; i += 1) key = (key << 6) ^ token.charCodeAt(i)
  return key
}
