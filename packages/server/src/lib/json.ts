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
  /** For writing it again: a number whose digits JavaScript would change is a `JSON.rawJSON`. */
  verbatim: unknown
}

/** Parses a JSON text once, for validation and for passing it on. Throws a `SyntaxError`. */
export function parseJson(text: string): ParsedJson {
  let isExact = true
  const verbatim: unknown = JSON.parse(text, (_, value: unknown, context?: { source?: string }) => {
    const digits = context?.source
    if (typeof value !== 'number' || digits === undefined || String(value) === digits) return value
    isExact = false
    return JSON.rawJSON(digits)
  })
  return { value: isExact ? verbatim : withNumbers(verbatim), verbatim }
}

/** Whether a member of a parsed text is a number with its original digits. */
export function isRawJson(value: unknown): value is RawJson {
  return JSON.isRawJSON(value)
}

function withNumbers(value: unknown): unknown {
  if (JSON.isRawJSON(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map(withNumbers)
  if (typeof value !== 'object' || value === null) return value
  // `Object.fromEntries` defines every member as an own property, even `__proto__`.
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withNumbers(member)]))
}

/** A name that an object of this text has twice. Parsers differ in which of the two they keep. `value` is the parsed text. */
export function duplicateName(text: string, value: unknown): string | undefined {
  const written = namesInText(text)
  const kept = namesIn(value)
  if (written.length === kept.length) return undefined
  const unseen = new Map<string, number>()
  for (const name of kept) unseen.set(name, (unseen.get(name) ?? 0) + 1)
  return written.find((name) => {
    const left = unseen.get(name) ?? 0
    unseen.set(name, left - 1)
    return left === 0
  })
}

/** The names of all members in a JSON text: the strings that a colon follows. */
function namesInText(text: string): string[] {
  const names: string[] = []
  const colon = /[\t\n\r ]*:/y
  let start: number | undefined
  // A pattern for a whole string would need a stack as deep as the string is long.
  for (const { 0: mark, index } of text.matchAll(/\\.|"/g)) {
    if (mark !== '"') continue
    colon.lastIndex = index + 1
    if (start !== undefined && colon.test(text)) names.push(JSON.parse(text.slice(start, index + 1)))
    start = start === undefined ? index : undefined
  }
  return names
}

function namesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (Array.isArray(value)) return value.flatMap(namesIn)
  return Object.entries(value).flatMap(([name, member]) => [name, ...namesIn(member)])
}
