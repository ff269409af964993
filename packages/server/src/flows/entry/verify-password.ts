import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { HashLine } from '../../lib/hash-line.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/**
 * Always runs one bcrypt at the configured cost, even without a user, so that timing reveals nothing. Throws
 * `invalid_credentials`.
 */
export async function verifyPassword<U extends Pick<PooledUser, 'password_hash'>>(
  deps: Deps,
  password: string,
  user: U | undefined,
  line: HashLine,
): Promise<U> {
  const matches = await deps.passwords.verify(password, user?.password_hash, line)
  if (!matches || !user) throw new ApiError('invalid_credentials')
  return user
}
