import type { Context } from 'koa'
import { z } from 'zod'
import { fieldError } from '../errors.ts'
import { isSoundText } from '../lib/json.ts'

const header = 'X-Audit-Reason'
const maxCharacters = 500

/** The header as OpenAPI shows it. `auditReasonOf` checks the value itself, because Node joins repeated headers into one. */
export const auditReason = z
  .string()
  .optional()
  .meta({
    description: `Reason for the call, in percent-encoded UTF-8 of at most ${maxCharacters} characters. Stored with its audit events`,
  })

/** The audit reason that the caller sent. Undefined if it is absent or blank. Throws `validation_failed`. */
export function auditReasonOf(ctx: Context): string | undefined {
  const [sent = '', ...more] = ctx.req.headersDistinct[header.toLowerCase()] ?? []
  if (more.length > 0) throw fieldError(header, 'invalid_value', 'must be sent once')
  const reason = decode(sent).trim()
  if ([...reason].length > maxCharacters) throw fieldError(header, 'too_long', `must have at most ${maxCharacters} characters`)
  return reason || undefined
}

function decode(sent: string): string {
  try {
    const text = decodeURIComponent(sent)
    if (/^[\x20-\x7e]*$/.test(sent) && isSoundText(text)) return text
  } catch {
    // A stray percent sign, or bytes that are not UTF-8.
  }
  throw fieldError(header, 'invalid_value', 'must be percent-encoded UTF-8 without NUL')
}
