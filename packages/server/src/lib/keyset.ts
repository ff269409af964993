export interface PageRequest {
  limit?: number | undefined
  /** The key after which the page starts, as `decodeCursor` gave it. */
  cursor?: string | undefined
}

export interface Page<T> {
  items: T[]
  nextCursor: string | null
}

const defaultLimit = 50

/** How many rows to read for a page: one more than it shows, to tell whether another page follows. */
export function rowsToRead(request: PageRequest): number {
  return (request.limit ?? defaultLimit) + 1
}

/** Cuts the rows read by `rowsToRead` into the page. */
export function pageOf<T>(rows: readonly T[], request: PageRequest, key: (row: T) => string): Page<T> {
  const limit = request.limit ?? defaultLimit
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorOf(key(last)) : null }
}

/** The `next_cursor` of a page that ends with the row of this key. */
export function cursorOf(key: string): string {
  return Buffer.from(key).toString('base64url')
}

/** The key in a `next_cursor`. Undefined if this service did not make the text. */
export function decodeCursor(cursor: string, isKey: (text: string) => boolean): string | undefined {
  const key = Buffer.from(cursor, 'base64url').toString('utf8')
  return isKey(key) && Buffer.from(key).toString('base64url') === cursor ? key : undefined
}

const namePrefix = 'name:'

/** The key of a row in a list by name. The prefix distinguishes it from a text that this service did not issue. */
export function nameKeyOf(name: string): string {
  return namePrefix + name
}

export function isNameKey(text: string): boolean {
  return text.startsWith(namePrefix) && !text.includes('\0')
}

export function nameOfKey(key: string): string {
  return key.slice(namePrefix.length)
}
