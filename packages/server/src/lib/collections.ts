/** Splits a list into parts of at most `size`. SQLite takes 500 rows per insert, 32,766 values per statement; Postgres 65,535. */
export function chunksOf<T>(list: readonly T[], size = 500): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < list.length; start += size) chunks.push(list.slice(start, start + size))
  return chunks
}

/** The first element of a list. Throws if the list is empty. */
export function only<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('the list is empty, and one element is needed')
  return first
}

/** The keys of an object whose type names them all. */
export function keysOf<T extends object>(object: T): (keyof T & string)[] {
  return Object.keys(object) as (keyof T & string)[]
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The members of an object that are not undefined. */
export function definedIn<T extends object>(object: T): Defined<T> {
  const defined: Defined<T> = { ...object }
  for (const key of keysOf(defined)) if (defined[key] === undefined) delete defined[key]
  return defined
}

/** Freezes an object and everything in it, so that all requests can share it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
  return value
}

/** Whether a value is an object in the sense of JSON: neither an array nor null. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns an empty record if the text is not a JSON object. */
export function recordIn(json: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(json)
    return isRecord(parsed) ? parsed : {}
  } catch {
    return {}
  }
}

/** Whether a text is a JSON array. */
export function isJsonList(text: string): boolean {
  try {
    return Array.isArray(JSON.parse(text))
  } catch {
    return false
  }
}
