import type { Deps } from '../../deps.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/** A hash at the configured cost for a password whose hash has another. A full queue puts it off to the next login. */
export async function upgradeHash(deps: Deps, password: string, user: PooledUser): Promise<string | undefined> {
  if (user.password_hash === null || !deps.passwords.needsUpgrade(user.password_hash)) return undefined
  return deps.passwords.hash(password).catch(() => undefined)
}
