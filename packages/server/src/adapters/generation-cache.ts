/** Values in memory that are valid for one generation of the data they were read from. */
export class GenerationCache<V> {
  readonly #entriesKept: number
  #generation: string | undefined
  #kept = new Map<string, V>()

  constructor(entriesKept: number) {
    this.#entriesKept = entriesKept
  }

  /** The generation that was last requested. Another server may have replaced it since. */
  get latest(): string | undefined {
    return this.#generation
  }

  /** The values of one generation. Values of other generations are dropped. */
  at(generation: string): Map<string, V> {
    if (generation !== this.#generation || this.#kept.size > this.#entriesKept) {
      this.#generation = generation
      this.#kept = new Map()
    }
    return this.#kept
  }
}
