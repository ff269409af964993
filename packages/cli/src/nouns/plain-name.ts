import { Failure } from '../command-line/exit-codes.ts'

/**
 * Checks the code of a role or provider, or the name of a pool: it must be a single segment of a URL path. Throws `invalid_role`,
 * `invalid_pool` or `invalid_provider`.
 */
export function parsePlainName(typed: string, what: 'role' | 'pool' | 'provider'): string {
  if (/^[a-z0-9_-]+$/.test(typed)) return typed
  throw new Failure('invalid', `"${typed}" is not a valid ${what}`, { code: `invalid_${what}`, hint: 'use a-z, 0-9, _ and -' })
}
