/** Which line an item waits in, and how many items its source gets served before the next source has its turn. */
export interface Line {
  key: string
  turns: number
  /** Where the line comes from. All lines of a source share its turns. Without one, the line is a source itself. */
  source?: string
}

/** A piece of work that was taken. */
export interface TakenItem<T> {
  item: T
  /** Call it once, when the work is done. */
  release(): void
}

interface Waiting<T> {
  item: T
  arrival: number
}

interface Source<T> {
  turns: number
  left: number
  size: number
  /** In the order of their next turns, like the sources. */
  lines: Map<string, Waiting<T>[]>
}

/**
 * Work in lines that are served in turn: first the sources take turns, then the lines of each source. A busy source therefore
 * delays mainly itself. A line keeps the order of its work, and is dropped when it is empty.
 */
export class FairQueue<T> {
  readonly #sources = new Map<string, Source<T>>()
  /** How many items of a source were taken and not yet released. */
  readonly #underWay = new Map<string, number>()
  #arrivals = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add({ key, turns, source: sourceKey = key }: Line, item: T): void {
    const source = this.#sources.get(sourceKey) ?? { turns, left: turns, size: 0, lines: new Map() }
    const line = source.lines.get(key) ?? []
    line.push({ item, arrival: ++this.#arrivals })
    source.lines.set(key, line)
    source.size += 1
    this.#sources.set(sourceKey, source)
    this.#size += 1
  }

  /** Takes the next item. Skips a source that has `most` items under way for each of its turns. */
  next(most = Number.POSITIVE_INFINITY): TakenItem<T> | undefined {
    for (const [key, source] of this.#sources) if (this.#countOf(key) < most * source.turns) return this.#take(key, source)
    return undefined
  }

  #take(sourceKey: string, source: Source<T>): TakenItem<T> {
    const [key, line] = source.lines.entries().next().value!
    const { item } = line.shift()!
    source.lines.delete(key)
    if (line.length > 0) source.lines.set(key, line)
    source.left -= 1
    source.size -= 1
    this.#size -= 1
    if (source.left === 0 || source.size === 0) {
      this.#sources.delete(sourceKey)
      if (source.size > 0) this.#sources.set(sourceKey, { ...source, left: source.turns })
    }
    this.#count(sourceKey, 1)
    return { item, release: () => this.#count(sourceKey, -1) }
  }

  #countOf(sourceKey: string): number {
    return this.#underWay.get(sourceKey) ?? 0
  }

  #count(sourceKey: string, change: number): void {
    const count = this.#countOf(sourceKey) + change
    if (count > 0) this.#underWay.set(sourceKey, count)
    else this.#underWay.delete(sourceKey)
  }

  /**
   * Takes the newest item of the longest line of the source with the most work per turn. Of equally long ones, the one with the
   * latest item counts.
   */
  takeNewest(): T | undefined {
    const fullest = longestOf(this.#sources, ({ size, turns, lines }) => ({
      length: size / turns,
      last: Math.max(...[...lines.values()].map(lastArrival)),
    }))
    if (!fullest) return undefined
    const [sourceKey, source] = fullest
    const [key, line] = longestOf(source.lines, (line) => ({ length: line.length, last: lastArrival(line) }))!
    const taken = line.pop()
    if (line.length === 0) source.lines.delete(key)
    source.size -= 1
    this.#size -= 1
    if (source.size === 0) this.#sources.delete(sourceKey)
    return taken?.item
  }
}

function lastArrival(line: readonly Waiting<unknown>[]): number {
  return line.at(-1)?.arrival ?? 0
}

function longestOf<V>(
  of: ReadonlyMap<string, V>,
  measure: (value: V) => { length: number; last: number },
): [string, V] | undefined {
  let longest: { entry: [string, V]; length: number; last: number } | undefined
  for (const entry of of) {
    const { length, last } = measure(entry[1])
    if (!longest || length > longest.length || (length === longest.length && last > longest.last))
      longest = { entry, length, last }
  }
  return longest?.entry
}
