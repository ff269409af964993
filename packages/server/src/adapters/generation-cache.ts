const entriesKept = 10_000

/** Values in memory that hold for one generation of what they were read from. */
export class GenerationCache {
  #generation: string | undefined
  #kept = new Map<string, unknown>()

  /** The generation that was asked for last. Another server may have ended it since. */
  get latest(): string | undefined {
    return this.#generation
  }

  /** The values of one generation. Values of other generations are dropped. */
  at(generation: string): Map<string, unknown> {
    if (generation !== this.#generation || this.#kept.size > entriesKept) {
      this.#generation = generation
      this.#kept = new Map()
    }
    return this.#kept
  }
}
