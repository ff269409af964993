import { ApiError, type ErrorCode, errorCodes } from '../../errors.ts'

/** Why a form is shown again. */
export interface FormRefusal {
  status: number
  code: ErrorCode
  /** What the code means, in general. */
  title: string
  /** The first fault of each field, worded to follow the field's label. */
  faults: Readonly<Record<string, string>>
  /** The field to focus. */
  focus: string | undefined
  /** Seconds. */
  retryAfter: number | undefined
}

/** After these the user must enter a password again, since a page never sends it back. */
const aboutCredentials: ReadonlySet<ErrorCode> = new Set([
  'invalid_credentials',
  'two_factor_required',
  'invalid_two_factor_code',
])

/**
 * Turns an error that the user can correct into a refusal of the form. Rethrows all others: a link that does not work, and server
 * errors.
 */
export function refusalOf(error: unknown): FormRefusal {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  if (error.code === 'invalid_token' || error.code === 'invalid_invitation') throw error
  const faults: Record<string, string> = {}
  for (const { path, message } of error.errors ?? []) faults[path] ??= message
  const { code, status, retryAfter } = error
  const focus = aboutCredentials.has(code) ? 'password' : Object.keys(faults)[0]
  return { status, code, title: errorCodes[code].title, faults, focus, retryAfter }
}

const accountIsThere =
  'there is an account with this address. If you do not know its password, set a new one with "forgot password" where you sign in'

/** Adds the fault of the single field that the refusal's code is about, if there is one. */
export function withFaultOfCode(refusal: FormRefusal): FormRefusal {
  return { ...refusal, faults: { ...refusal.faults, ...faultOfCode(refusal) } }
}

function faultOfCode({ code }: FormRefusal): Record<string, string> {
  if (code === 'invalid_credentials') return { password: `is wrong: ${accountIsThere}` }
  if (code === 'invalid_two_factor_code') return { two_factor_code: 'is wrong or was already used' }
  return {}
}

/** What to show for a code that is not about a single field. */
export function generalFault(refusal: FormRefusal | undefined, app: string): string | undefined {
  if (refusal === undefined) return undefined
  const later = minutesIn(refusal.retryAfter)
  switch (refusal.code) {
    case 'validation_failed':
    case 'invalid_credentials':
      return undefined
    case 'two_factor_required':
      return 'This account has a second factor. Enter your password again, together with the code.'
    case 'invalid_two_factor_code':
      return 'Enter your password again, together with another code.'
    case 'account_locked':
      return `This account is locked after too many failed attempts. Try again in ${later}.`
    case 'rate_limited':
      return `Too many attempts. Try again in ${later}.`
    case 'account_suspended':
      return 'This account is suspended.'
    case 'app_access_denied':
      return `This account has no access to ${app}. Ask the person who invited you to give it access.`
    case 'email_domain_not_allowed':
      return `${app} does not accept addresses of this domain.`
    default:
      return `${refusal.title}.`
  }
}

function minutesIn(seconds = 60): string {
  const minutes = Math.max(1, Math.ceil(seconds / 60))
  return minutes === 1 ? 'a minute' : `${minutes} minutes`
}
