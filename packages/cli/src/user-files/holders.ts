import type { Pages } from '../api/api-client.ts'

/** The users of one app or role, newest first, read as far as they are needed. */
class Cursor {
  readonly #pages: AsyncIterator<{ id: string }[], void, undefined>
  #page: { id: string }[] = []
  #next = 0
  #isDone = false

  constructor(pages: Pages<{ id: string }>) {
    this.#pages = pages[Symbol.asyncIterator]()
  }

  /** Ids must descend from one call to the next. */
  async holds(id: string): Promise<boolean> {
    for (;;) {
      if (this.#next === this.#page.length && !(await this.#readOn())) return false
      const own = this.#page[this.#next]?.id
      if (own === undefined) continue
      if (own <= id) return own === id
      this.#next += 1
    }
  }

  async #readOn(): Promise<boolean> {
    if (this.#isDone) return false
    const { value, done } = await this.#pages.next()
    this.#isDone = Boolean(done)
    this.#page = value ?? []
    this.#next = 0
    return !this.#isDone
  }
}

/** Finds the apps or roles that a user holds. Ask for users newest first. Keeps one page of holders for each app or role. */
export class Holders {
  readonly #cursors: [code: string, cursor: Cursor][]

  constructor(codes: readonly string[], usersOf: (code: string) => Pages<{ id: string }>) {
    this.#cursors = [...codes].sort().map((code) => [code, new Cursor(usersOf(code))])
  }

  async of(userId: string): Promise<string[]> {
    const held: string[] = []
    for (const [code, cursor] of this.#cursors) if (await cursor.holds(userId)) held.push(code)
    return held
  }
}
