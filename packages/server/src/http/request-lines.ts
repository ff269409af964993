import type { z } from 'zod'
import { ApiError } from '../errors.ts'
import { parseObject } from './request-body.ts'
import { validate } from './validate.ts'

/** A line of newline-delimited JSON: its number, counted from 1, and its value or the error in it. */
export type RequestLine<T> = { line: number; value: T } | { line: number; error: ApiError }

export type Lines<T> = Iterable<RequestLine<T>, void, undefined>

const newline = 0x0a
const longestBytes = 64 * 1024
/** No body of users has more: the shortest line of one has 20 bytes. */
const mostLines = 600_000
const blank = /^[\s\ufeff]*$/

/**
 * Parses the lines lazily, one at a time. A bad line does not stop the others, and blank lines are skipped. Throws
 * `payload_too_large` before the first line if there are too many.
 */
export function* parseLines<S extends z.ZodType>(bytes: Buffer, schema: S): Lines<z.output<S>> {
  if (countBreaks(bytes) >= mostLines)
    throw new ApiError('payload_too_large', { detail: `The body has more than ${mostLines} lines` })
  let start = 0
  for (let line = 1; start < bytes.length; line += 1) {
    const found = bytes.indexOf(newline, start)
    const end = found === -1 ? bytes.length : found
    const text = bytes.subarray(start, end)
    start = end + 1
    if (text.length <= longestBytes && blank.test(text.toString())) continue
    yield parseLine(line, text, schema)
  }
}

function countBreaks(bytes: Buffer): number {
  let breaks = 0
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === newline) breaks += 1
  return breaks
}

function parseLine<S extends z.ZodType>(line: number, text: Buffer, schema: S): RequestLine<z.output<S>> {
  try {
    if (text.length > longestBytes) throw new ApiError('payload_too_large', { detail: 'The line is longer than 64 KiB' })
    return { line, value: validate(schema, parseObject(text).value) }
  } catch (error) {
    if (error instanceof ApiError) return { line, error }
    throw error
  }
}
