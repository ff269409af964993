import type { Context, Middleware } from 'koa'
import { koaBody, HttpMethodEnum as Method } from 'koa-body'
import { z } from 'zod'
import { ApiError, fieldError } from '../errors.ts'
import { isRecord } from '../lib/collections.ts'
import { isSoundText, JsonFault, type ParsedJson, parseJson } from '../lib/json.ts'
import { validate } from './validate.ts'

const usualLimitBytes = 64 * 1024
const maxFormFields = 50
const maxQueryBytes = 8 * 1024
const maxQueryParameters = 100
const maxReasonCharacters = 500
/** Browsers send about 150 characters. */
const maxAcceptLength = 1_000
const longestLineBytes = 64 * 1024

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
function parseUrlEncoded(text: string, most: number): UrlEncoded | undefined {
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

/**
 * Whether a client, such as a browser, would rather have HTML than JSON. A long `Accept` header is not parsed: Koa's parser takes
 * time that grows with the square of its length.
 */
export function prefersHtml(ctx: Context): boolean {
  return ctx.get('Accept').length <= maxAcceptLength && ctx.accepts('json', 'html') === 'html'
}

export const reasonHeader = 'X-Audit-Reason'

/** The header as OpenAPI shows it. `auditReasonOf` checks the value itself, because Node joins repeated headers into one. */
export const auditReason = z
  .string()
  .optional()
  .meta({
    description: `Reason for the call, in percent-encoded UTF-8 of at most ${maxReasonCharacters} characters. Stored with its audit events`,
  })

/** Something that a reader sees. Unicode counts the five excluded ones as letters and a symbol, but they are drawn as nothing. */
const visible = /(?![\u115f\u1160\u2800\u3164\uffa0])[\p{L}\p{N}\p{P}\p{S}]/u

/** The audit reason that the caller sent. Undefined if it is absent, or shows nothing. Throws `validation_failed`. */
export function auditReasonOf(ctx: Context): string | undefined {
  const [sent = '', ...more] = ctx.req.headersDistinct[reasonHeader.toLowerCase()] ?? []
  if (more.length > 0) throw fieldError(reasonHeader, 'invalid_value', 'must be sent once')
  const reason = decodeReason(sent).trim()
  if ([...reason].length > maxReasonCharacters)
    throw fieldError(reasonHeader, 'too_long', `must have at most ${maxReasonCharacters} characters`)
  return visible.test(reason) ? reason : undefined
}

function decodeReason(sent: string): string {
  try {
    const text = decodeURIComponent(sent)
    if (/^[\x20-\x7e]*$/.test(sent) && isSoundText(text)) return text
  } catch {
    // A stray percent sign, or bytes that are not UTF-8.
  }
  throw fieldError(reasonHeader, 'invalid_value', 'must be percent-encoded UTF-8 without NUL')
}

const jsonType = 'application/json'
const formType = 'application/x-www-form-urlencoded'
const linesType = 'application/x-ndjson'
const imageType = 'image/*'
const typesOf = { json: [jsonType], oauth: [jsonType, formType], page: [formType] }
const utf8 = new TextDecoder('utf-8', { fatal: true })

const collectors = new Map<number, Middleware>()

// koa-body collects the bytes and enforces the size limit. It returns latin1 text, one character per byte. This file then decodes
// UTF-8 strictly, where koa-body would put replacement characters into passwords, and keeps a `__proto__` as a plain member.
function collectorOf(limitBytes: number): Middleware {
  const known = collectors.get(limitBytes)
  if (known) return known
  const collector = koaBody({
    json: false,
    urlencoded: false,
    multipart: false,
    text: true,
    textTypes: [jsonType, formType, linesType, imageType],
    encoding: 'latin1',
    // Unless DELETE is listed, koa-body does not read its body.
    parsedMethods: [Method.POST, Method.PUT, Method.PATCH, Method.DELETE],
    textLimit: limitBytes,
    onError(error) {
      throw error
    },
  })
  collectors.set(limitBytes, collector)
  return collector
}

/** Reads a body of one of these types as bytes. A request without a body gives none. Throws 413 and 415. */
async function collect(ctx: Context, types: readonly string[], limitBytes: number): Promise<Buffer> {
  const { headers } = ctx.req
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody) return Buffer.alloc(0)
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '')?.[1]
  if (!ctx.is([...types]) || (charset && !/^utf-?8$/i.test(charset)))
    throw new ApiError('unsupported_media_type', { detail: `The body must be ${types.join(' or ')}` })
  // Decompression would only let clients make work with broken or bloated bodies.
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) throw new ApiError('unsupported_media_type')
  await collectorOf(limitBytes)(ctx, async () => {})
  const text = 'body' in ctx.request ? ctx.request.body : undefined
  return Buffer.from(typeof text === 'string' ? text : '', 'latin1')
}

/** Reads a body of bytes. Throws 413 and 415. */
export function readBytes(ctx: Context, types: readonly string[], limitBytes = usualLimitBytes): Promise<Buffer> {
  return collect(ctx, types, limitBytes)
}

export interface ParsedBody {
  value: Record<string, unknown>
  /** Like `value`, but each number keeps the digits it was sent in, for passing it on. */
  verbatim(): Record<string, unknown>
}

/**
 * Reads the JSON object in the body, or the fields of a form, by what the route speaks. A request without a body counts as `{}`.
 * Throws `invalid_json`, 413 and 415.
 */
export async function readBody(
  ctx: Context,
  { speaks = 'json', bodyLimitBytes = usualLimitBytes }: { speaks?: keyof typeof typesOf; bodyLimitBytes?: number },
): Promise<ParsedBody> {
  const bytes = await collect(ctx, typesOf[speaks], bodyLimitBytes)
  if (bytes.length > 0 && !ctx.is(formType)) return parseObject(bytes)
  const text = bytes.toString('latin1')
  if (speaks === 'page' && !isUtf8Form(text)) throw new ApiError('invalid_json', { detail: 'The form is not encoded in UTF-8' })
  const value = parseForm(text)
  return { value, verbatim: () => value }
}

/** The parser would turn bytes that are not UTF-8 into replacement characters, in passwords too. */
function isUtf8Form(text: string): boolean {
  try {
    decodeURIComponent(text)
    return /^[\x20-\x7e]*$/.test(text)
  } catch {
    return false
  }
}

/** A field that is sent twice becomes a list, which no form schema accepts. Throws `invalid_json` past 50 fields. */
function parseForm(text: string): Record<string, unknown> {
  const form = parseUrlEncoded(text, maxFormFields)
  if (!form) throw new ApiError('invalid_json', { detail: `The form has more than ${maxFormFields} fields` })
  if (!Object.entries(form).flat(2).every(isSoundText))
    throw new ApiError('invalid_json', { detail: 'A field contains a NUL or half a surrogate pair' })
  return form
}

/**
 * Parses bytes as a JSON object. Refuses content that a database or another program cannot hold or would read differently.
 * Throws `invalid_json`.
 */
function parseObject(bytes: Buffer): ParsedBody {
  let parsed: ParsedJson
  try {
    parsed = parseJson(utf8.decode(bytes))
  } catch (cause) {
    const detail = cause instanceof JsonFault ? cause.message : 'The body is not valid JSON in UTF-8'
    throw new ApiError('invalid_json', { detail, cause })
  }
  const { value, verbatim } = parsed
  if (!isRecord(value)) throw new ApiError('invalid_json', { detail: 'The body must be a JSON object' })
  return {
    value,
    verbatim() {
      const again = verbatim()
      return isRecord(again) ? again : value
    },
  }
}

/** A line of newline-delimited JSON: its number, counted from 1, and its value or the error in it. */
type RequestLine<T> = { line: number; value: T } | { line: number; error: ApiError }

export type Lines<T> = Iterable<RequestLine<T>, void, undefined>

const newline = 0x0a
const blank = /^[\s\ufeff]*$/

/**
 * Reads a body of newline-delimited JSON. It reads the whole body before any line is used, because the work on the lines may take
 * longer than a client may take to send them. The lines are parsed lazily, one at a time: a bad line does not stop the others.
 */
export async function readLines<S extends z.ZodType>(
  ctx: Context,
  schema: S,
  limitBytes = usualLimitBytes,
): Promise<Lines<z.output<S>>> {
  return parseLines(await collect(ctx, [linesType], limitBytes), schema)
}

function* parseLines<S extends z.ZodType>(bytes: Buffer, schema: S): Lines<z.output<S>> {
  let start = 0
  let line = 1
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? newline
    if (byte === newline) {
      start = at + 1
      line += 1
    } else if (!isBlank(byte)) {
      const found = bytes.indexOf(newline, at)
      const end = found === -1 ? bytes.length : found
      const text = bytes.subarray(start, end)
      at = end - 1
      if (text.length > longestLineBytes || !blank.test(text.toString())) yield parseLine(line, text, schema)
    }
  }
}

/** Whether a byte is white space of ASCII. Millions of blank lines are skipped byte by byte, since a text of each costs more. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
}

function parseLine<S extends z.ZodType>(line: number, text: Buffer, schema: S): RequestLine<z.output<S>> {
  try {
    if (text.length > longestLineBytes) throw new ApiError('payload_too_large', { detail: 'The line is longer than 64 KiB' })
    return { line, value: validate(schema, parseObject(text).value) }
  } catch (error) {
    if (error instanceof ApiError) return { line, error }
    throw error
  }
}
