declare global {
  // From ECMAScript 2026: Node has it, but TypeScript's library does not yet.
  interface JSON {
    rawJSON(text: string): RawJson
    isRawJSON(value: unknown): value is RawJson
  }
}

/** A number that is written as exactly this text. */
interface RawJson {
  readonly rawJSON: string
}

export interface ParsedJson {
  /** For the program, with JavaScript numbers. */
  value: unknown
  /**
   * For writing it again: a number whose digits JavaScript would change is a `JSON.rawJSON`. This parses the text once more, which
   * takes many times as long, so call it only for a text that goes elsewhere.
   */
  verbatim(): unknown
}

/** JSON that a database or another program cannot hold, or would read differently. The message is for the sender. */
export class JsonFault extends Error {}

const maxDepth = 32
/** The largest list of permissions has a quarter of these, and no body of the usual size has as many. */
const maxValues = 100_000
const maxNameShown = 200
const unsoundString = /\0|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
/** Only escapes can write a NUL or half a surrogate pair in valid UTF-8. */
const suspiciousEscape = /\\u(?:0000|[dD][89a-fA-F])/
/** A number that JavaScript may write with other digits, or a string that looks like one. */
const suspiciousDigits = /\d[.eE]|\d{16}|-0/

/**
 * Parses a JSON text for validation, and on demand for passing it on. Throws a `SyntaxError`, and a `JsonFault` for a NUL or half a
 * surrogate pair, a number out of range, a name that an object has twice, and a text that is too deep or has too many values.
 */
export function parseJson(text: string): ParsedJson {
  // Small values are what a long text costs, so they are counted before they are made.
  const written = countWrittenNames(text)
  const value: unknown = JSON.parse(text)
  const kept = countNames(value, 1)
  if (written !== kept) throw new JsonFault(`${duplicateName(text).slice(0, maxNameShown)}: appears twice in one object`)
  if (suspiciousEscape.test(text)) assertSoundStrings(value)
  return { value, verbatim: () => (suspiciousDigits.test(text) ? withDigits(text) : value) }
}

/** Whether a database and other programs can hold the text: it has no NUL and no half of a surrogate pair. */
export function isSoundText(text: string): boolean {
  return !unsoundString.test(text)
}

function assertSoundStrings(value: unknown): void {
  if (typeof value === 'string') {
    if (!isSoundText(value)) throw new JsonFault('A string contains a NUL or half a surrogate pair')
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      assertSoundStrings(name)
      assertSoundStrings(member)
    }
  }
}

function withDigits(text: string): unknown {
  return JSON.parse(text, (_, value: unknown, context?: { source?: string }) => {
    const digits = context?.source
    return typeof value !== 'number' || digits === undefined || String(value) === digits ? value : JSON.rawJSON(digits)
  })
}

/** Whether a member of a parsed text is a number with its original digits. */
export function isRawJson(value: unknown): value is RawJson {
  return JSON.isRawJSON(value)
}

/** The names that the objects of a parsed text have. Throws a `JsonFault` past 32 levels, and for a number out of range. */
function countNames(value: unknown, depth: number): number {
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) throw new JsonFault('A number is out of range')
  if (typeof value !== 'object' || value === null) return 0
  if (depth > maxDepth) throw new JsonFault(`The body is nested deeper than ${maxDepth} levels`)
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value)
  let names = Array.isArray(value) ? 0 : members.length
  for (const member of members) names += countNames(member, depth + 1)
  return names
}

/**
 * The names of members in a JSON text: the strings that a colon follows. Throws a `JsonFault` if it has more values than any body
 * needs. A text that turns out not to be JSON is counted up to its fault, and somehow after it.
 */
function countWrittenNames(text: string): number {
  let names = 0
  let values = 0
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at]
    if (mark === '"') at = endOfString(text, at)
    else if (mark === ':') names += 1
    else if (mark === ',' || mark === '[' || mark === '{') values += 1
    if (values > maxValues) throw new JsonFault(`The body has more than ${maxValues} values`)
  }
  return names
}

/** The first name that an object of this text has twice. Parsers differ in which of the two members they keep. */
function duplicateName(text: string): string {
  const open: Set<string>[] = []
  let last = ''
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at]
    if (mark === '{') open.push(new Set())
    else if (mark === '}') open.pop()
    else if (mark === '"') {
      const end = endOfString(text, at)
      last = text.slice(at, end + 1)
      at = end
    } else if (mark === ':') {
      const name: string = JSON.parse(last)
      if (open.at(-1)?.has(name)) return name
      open.at(-1)?.add(name)
    }
  }
  return last
}

/** Where the string that begins at `start` ends: at its last quote, or at the end of a text that has none. */
function endOfString(text: string, start: number): number {
  let end = start
  do end = text.indexOf('"', end + 1)
  while (end !== -1 && isEscaped(text, end))
  return end === -1 ? text.length : end
}

/** Whether an odd number of backslashes is before this place. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}
