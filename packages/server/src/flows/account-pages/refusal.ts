import { ApiError, type ErrorCode, errorCodes } from '../../errors.ts'

/** Why a form is shown once more. */
export interface Refusal {
  status: number
  code: ErrorCode
  /** What the code means, in general. */
  title: string
  /** The first fault of each field, as the end of a sentence that begins with its name. */
  faults: Readonly<Record<string, string>>
  /** The field to go on with. */
  focus: string | undefined
  /** Seconds. */
  retryAfter: number | undefined
}

/** After these a password is to be entered once more, whatever else: it is never sent back. */
const aboutCredentials: ReadonlySet<ErrorCode> = new Set([
  'invalid_credentials',
  'two_factor_required',
  'invalid_two_factor_code',
])

/**
 * An error that whoever filled in the form can do something about. What is not of that kind is thrown on: a link that is no good, and
 * what is wrong on our side.
 */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  if (error.code === 'invalid_token' || error.code === 'invalid_invitation') throw error
  const faults: Record<string, string> = {}
  for (const { path, message } of error.errors ?? []) faults[path] ??= message
  const { code, status, retryAfter } = error
  const focus = aboutCredentials.has(code) ? 'password' : Object.keys(faults)[0]
  return { status, code, title: errorCodes[code].title, faults, focus, retryAfter }
}
