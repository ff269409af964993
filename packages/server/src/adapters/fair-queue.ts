/** Whose work waits together, and how many pieces of it are served before somebody else has their turn. */
export interface Line {
  key: string
  turns: number
  /** Where the line comes from. Lines of one source share its turns, however many they are; without one a line is a source by itself. */
  source?: string
}

/** A piece of work that was taken. */
export interface Taken<T> {
  item: T
  /** To be called once, when the work is done. */
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
  /** In the order of their next turns, as the sources are. */
  lines: Map<string, Waiting<T>[]>
}

/**
 * Work in lines that are served in turn, so that whoever has much to do waits for himself: first the sources take turns, then the lines of
 * each. In a line the work keeps its order, and one that is empty is forgotten.
 */
export class FairQueue<T> {
  readonly #sources = new Map<string, Source<T>>()
  /** How much work of a source was taken and is not released. */
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

  /** Takes the next piece of work. A source that has `most` under way for each of its turns is passed over. */
  next(most = Number.POSITIVE_INFINITY): Taken<T> | undefined {
    for (const [key, source] of this.#sources) if (this.#countOf(key) < most * source.turns) return this.#take(key, source)
    return undefined
  }

  #take(sourceKey: string, source: Source<T>): Taken<T> {
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
   * Takes the newest work of the longest line: that of the source with the most work for the turns it has. Of those as long, the one
   * that came last.
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
