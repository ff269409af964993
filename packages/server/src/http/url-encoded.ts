import type { Context } from 'koa'
import { fieldError } from '../errors.ts'
import { isSoundText } from '../lib/json.ts'

const maxQueryBytes = 8 * 1024
const maxQueryParameters = 100

/** The fields of a text such as `a=1&b=2`. A name that appears more than once has a list of its values. */
export type UrlEncoded = Record<string, string | string[]>

/**
 * Parses the query of a request. Nothing else reads it: Koa's `ctx.query` takes time that grows with the square of its length.
 * Throws `validation_failed` if it is longer than 8 KiB or has more than 100 parameters.
 */
export function readQuery(ctx: Context): UrlEncoded {
  const start = ctx.url.indexOf('?')
  if (start === -1) return {}
  const text = ctx.url.slice(start + 1)
  if (text.length > maxQueryBytes) throw fieldError('query', 'too_long', `must have at most ${maxQueryBytes} bytes`)
  const query = parseUrlEncoded(text, maxQueryParameters)
  if (!query) throw fieldError('query', 'too_long', `must have at most ${maxQueryParameters} parameters`)
  return query
}

/** Returns the query if a database can hold its text. Throws `validation_failed`. */
export function soundQuery(query: UrlEncoded): UrlEncoded {
  const unsound = Object.entries(query).find((entry) => !entry.flat().every(isSoundText))
  if (unsound) throw fieldError(unsound[0].replace(/\0/g, ''), 'invalid_value', 'contains a NUL or half a surrogate pair')
  return query
}

/** Parses a query or a form in one pass. Undefined if it has more than `most` fields, which are counted before they are parsed. */
export function parseUrlEncoded(text: string, most: number): UrlEncoded | undefined {
  let separators = 0
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    separators += 1
    if (separators >= most) return undefined
  }
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const earlier = fields.get(name)
    if (earlier === undefined) fields.set(name, value)
    else if (typeof earlier === 'string') fields.set(name, [earlier, value])
    else earlier.push(value)
  }
  // `Object.fromEntries` defines every member as an own property, even `__proto__`.
  return Object.fromEntries(fields)
}
