const entriesKept = 10_000

/** Values in memory that are valid for one generation of the data they were read from. */
export class GenerationCache {
  #generation: string | undefined
  #kept = new Map<string, unknown>()

  /** The generation that was last requested. Another server may have replaced it since. */
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
