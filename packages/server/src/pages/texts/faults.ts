import type { FieldError } from '../../errors.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARACTERS } from '../../lib/password.ts'

/** What can be wrong with a field of a page. The messages of the API are in English, so a page has words of its own. */
export const faultWords = [
  'required',
  'no_email',
  'too_short',
  'too_long',
  'too_many_bytes',
  'too_common',
  'is_email',
  'no_match',
  'wrong',
  'wrong_or_used',
  'wrong_for_account',
  'invalid',
] as const
export type FaultWord = (typeof faultWords)[number]

/** The number that the text of a fault names. */
export const limitOfFault: Partial<Record<FaultWord, number>> = {
  too_short: MIN_PASSWORD_CHARACTERS,
  too_long: MAX_NAME,
  too_many_bytes: MAX_PASSWORD_BYTES,
}

/** The first fault of each field. */
export function faultsIn(errors: readonly FieldError[] = []): Record<string, FaultWord> {
  const faults: Record<string, FaultWord> = {}
  for (const error of errors) faults[error.path] ??= faultOf(error)
  return faults
}

function faultOf({ path, code }: FieldError): FaultWord {
  if (code === 'required' || code === 'too_common') return code
  if (path === 'email') return 'no_email'
  if (path === 'password_again') return 'no_match'
  if (code === 'too_short') return code
  if (code === 'too_long') return path === 'password' ? 'too_many_bytes' : code
  return path === 'password' && code === 'invalid_value' ? 'is_email' : 'invalid'
}
