import type { Payload } from './claims.ts'

interface Entry {
  readonly token: string
  readonly payload: Payload
}

const SIGNATURE_CHARACTERS = 43

/**
 * Tokens that were verified, found by their signatures, in two generations: when the young one is full it becomes the old one, and
 * what the old one held is forgotten unless it was asked for meanwhile. Never more than `most` tokens, which is at least 2.
 */
export class SeenTokens {
  readonly #most: number
  #young = new Map<string, Entry>()
  #old = new Map<string, Entry>()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#young.size + this.#old.size
  }

  /** The payload of this very token. */
  get(token: string): Payload | undefined {
    const signature = token.slice(-SIGNATURE_CHARACTERS)
    const young = this.#young.get(signature)
    const entry = young ?? this.#old.get(signature)
    // The whole token is compared: a signature alone proves nothing about what stands before it.
    if (entry?.token !== token) return undefined
    if (!young) this.add(token, entry.payload)
    return entry.payload
  }

  add(token: string, payload: Payload): void {
    if (this.#young.size >= this.#most >> 1) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(token.slice(-SIGNATURE_CHARACTERS), { token, payload })
  }
}
