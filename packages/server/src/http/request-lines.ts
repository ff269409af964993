import type { z } from 'zod'
import { ApiError } from '../errors.ts'
import { parseObject } from './request-body.ts'
import { validate } from './validate.ts'

/** A line of newline-delimited JSON: its number, counted from 1, and its value or the error in it. */
export type RequestLine<T> = { line: number; value: T } | { line: number; error: ApiError }

export type Lines<T> = Iterable<RequestLine<T>, void, undefined>

const newline = 0x0a
const longestBytes = 64 * 1024
const blank = /^[\s\ufeff]*$/

/** Parses the lines lazily, one at a time. A bad line does not stop the others, and blank lines are skipped. */
export function* parseLines<S extends z.ZodType>(bytes: Buffer, schema: S): Lines<z.output<S>> {
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
      if (text.length > longestBytes || !blank.test(text.toString())) yield parseLine(line, text, schema)
    }
  }
}

/** Whether a byte is white space of ASCII. Millions of blank lines are skipped byte by byte, since a text of each costs more. */
function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)
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
