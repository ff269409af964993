import { Failure } from '../command-line/exit-codes.ts'

/** A failure for a refused password or code: the input is wrong, not the session, despite the 401. Undefined for other errors. */
export function refused(error: unknown): Failure | undefined {
  const isTyped = error instanceof Failure && /^invalid_(two_factor_code|credentials)$/.test(error.code)
  return isTyped ? new Failure('invalid', error.message, error) : undefined
}
