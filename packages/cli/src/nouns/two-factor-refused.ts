import { Failure } from '../command-line/exit-codes.ts'

/** What was typed is at fault here, not the session, though both are answered 401. */
export function refused(error: unknown): Failure | undefined {
  const isTyped = error instanceof Failure && /^invalid_(two_factor_code|credentials)$/.test(error.code)
  return isTyped ? new Failure('invalid', error.message, error) : undefined
}
