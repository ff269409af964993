import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { HashLine } from '../../lib/hash-line.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/** One bcrypt at the configured cost whatever the user is, so that time tells nothing. Throws `invalid_credentials`. */
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
