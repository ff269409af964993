import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/** One bcrypt at the configured cost whatever the user is, so that time tells nothing. Throws `invalid_credentials`. */
export async function verifyPassword(deps: Deps, password: string, user: PooledUser | undefined): Promise<PooledUser> {
  const matches = await deps.passwords.verify(password, user?.password_hash)
  if (!matches || !user) throw new ApiError('invalid_credentials')
  return user
}
