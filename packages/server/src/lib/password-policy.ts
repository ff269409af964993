import { normalizeEmail } from './email.ts'

export const MIN_PASSWORD_CHARACTERS = 8
export const MAX_PASSWORD_BYTES = 1_024

interface PasswordFault {
  code: 'too_short' | 'too_long' | 'too_common' | 'invalid_value'
  message: string
}

/**
 * Why a new password is refused, or undefined. `blocklist` holds common passwords in lower case; the message never
 * holds the password.
 */
export function passwordFault(password: string, email: string, blocklist: ReadonlySet<string>): PasswordFault | undefined {
  if ([...password].length < MIN_PASSWORD_CHARACTERS)
    return { code: 'too_short', message: `must have at least ${MIN_PASSWORD_CHARACTERS} characters` }
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    return { code: 'too_long', message: `must have at most ${MAX_PASSWORD_BYTES} bytes` }
  if (normalizeEmail(password) === email) return { code: 'invalid_value', message: 'must not be the e-mail address' }
  if (blocklist.has(password.toLowerCase())) return { code: 'too_common', message: 'is one of the most common passwords' }
  return undefined
}
