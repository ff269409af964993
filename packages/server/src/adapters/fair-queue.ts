/** Names the line in which work waits, and how many pieces of work the line may run before the next line has its turn. */
export interface Line {
  key: string
  turns: number
}

interface Waiting<T> {
  turns: number
  left: number
  items: { item: T; arrival: number }[]
}

/**
 * Work in lines that are served in turn, so a caller with much work delays only itself. Work keeps its order within a line, and empty
 * lines are removed.
 */
export class FairQueue<T> {
  /** In the order of their next turns. */
  readonly #lines = new Map<string, Waiting<T>>()
  #arrivals = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  add({ key, turns }: Line, item: T): void {
    const line = this.#lines.get(key) ?? { turns, left: turns, items: [] }
    line.items.push({ item, arrival: ++this.#arrivals })
    this.#lines.set(key, line)
    this.#size += 1
  }

  /** Takes the next piece of work. */
  next(): T | undefined {
    const [first] = this.#lines
    if (!first) return undefined
    const [key, line] = first
    const taken = line.items.shift()
    line.left -= 1
    if (line.left === 0 || line.items.length === 0) {
      this.#lines.delete(key)
      if (line.items.length > 0) this.#lines.set(key, { ...line, left: line.turns })
    }
    this.#size -= 1
    return taken?.item
  }

  /** Takes the newest work of the line that is longest in proportion to its turns. Of equally long lines it takes the newest. */
  takeNewest(): T | undefined {
    let longest: Waiting<T> | undefined
    for (const line of this.#lines.values()) if (!longest || isLonger(line, longest)) longest = line
    const taken = longest?.items.pop()
    if (!longest || !taken) return undefined
    if (longest.items.length === 0) this.#forget(longest)
    this.#size -= 1
    return taken.item
  }

  #forget(line: Waiting<T>): void {
    for (const [key, each] of this.#lines) if (each === line) this.#lines.delete(key)
  }
}

function isLonger<T>(line: Waiting<T>, than: Waiting<T>): boolean {
  const difference = line.items.length / line.turns - than.items.length / than.turns
  return difference > 0 || (difference === 0 && lastArrival(line) > lastArrival(than))
}

function lastArrival<T>({ items }: Waiting<T>): number {
  return items.at(-1)?.arrival ?? 0
}
