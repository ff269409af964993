import type { Context, Middleware } from 'koa'
import { koaBody, HttpMethodEnum as Method } from 'koa-body'
import { ApiError } from '../errors.ts'
import { isRecord } from '../lib/is-record.ts'
import { isSoundText, JsonFault, type ParsedJson, parseJson } from '../lib/json.ts'
import { parseUrlEncoded } from './url-encoded.ts'

const usualLimitBytes = 64 * 1024
const maxFormFields = 50
const formType = 'application/x-www-form-urlencoded'
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
    textTypes: ['application/json', formType, 'application/x-ndjson'],
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

export interface ParsedBody {
  value: Record<string, unknown>
  /** Like `value`, but each number keeps the digits it was sent in, for passing it on. */
  verbatim(): Record<string, unknown>
}

/**
 * Reads the JSON object in the body, or the fields of a form if `form` allows one. A request without a body counts as `{}`.
 * Throws `invalid_json`, 413 and 415.
 */
export async function readBody(ctx: Context, { form = false, limitBytes = usualLimitBytes } = {}): Promise<ParsedBody> {
  const types = form ? ['application/json', formType] : ['application/json']
  const bytes = await collect(ctx, types, limitBytes)
  if (bytes.length > 0 && !ctx.is(formType)) return parseObject(bytes)
  const value = bytes.length > 0 ? parseForm(bytes.toString('latin1')) : {}
  return { value, verbatim: () => value }
}

/** Reads the fields of a form as browsers send it. Throws `invalid_json` if it is not UTF-8, 413 and 415. */
export async function readForm(ctx: Context): Promise<Record<string, unknown>> {
  const text = (await collect(ctx, [formType], usualLimitBytes)).toString('latin1')
  if (!isUtf8Form(text)) throw new ApiError('invalid_json', { detail: 'The form is not encoded in UTF-8' })
  return parseForm(text)
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

/**
 * Reads a body of newline-delimited JSON as bytes. It reads the whole body before any line is used, because the work on the lines
 * may take longer than a client may take to send them.
 */
export async function readLines(ctx: Context, limitBytes = usualLimitBytes): Promise<Buffer> {
  return collect(ctx, ['application/x-ndjson'], limitBytes)
}

/** Reads a body of one of these types as bytes. A request without a body gives none. */
async function collect(ctx: Context, types: string[], limitBytes: number): Promise<Buffer> {
  const { headers } = ctx.req
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (!hasBody) return Buffer.alloc(0)
  const charset = /charset\s*=\s*"?([^\s";]+)/i.exec(headers['content-type'] ?? '')?.[1]
  if (!ctx.is(types) || (charset && !/^utf-?8$/i.test(charset))) throw new ApiError('unsupported_media_type')
  // Decompression would only let clients make work with broken or bloated bodies.
  if (!/^(identity)?$/i.test(headers['content-encoding'] ?? '')) throw new ApiError('unsupported_media_type')
  await collectorOf(limitBytes)(ctx, async () => {})
  const text = 'body' in ctx.request ? ctx.request.body : undefined
  return Buffer.from(typeof text === 'string' ? text : '', 'latin1')
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
export function parseObject(bytes: Buffer): ParsedBody {
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
