import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { HashLine } from '../../lib/hash-line.ts'
import { User } from '../../models/user.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/**
 * Hashes a password again if its hash does not have the configured cost. Returns a function that stores the new hash in the
 * login's transaction, or undefined if no upgrade is due. If the hash queue is full, the upgrade waits for the next login.
 */
export async function upgradeHash(
  deps: Deps,
  password: string,
  user: PooledUser,
  line: HashLine,
): Promise<((deps: Deps<Tx>) => Promise<void>) | undefined> {
  const { password_hash: hash } = user
  if (hash === null || !deps.passwords.needsUpgrade(hash)) return undefined
  const upgraded = await deps.passwords.hash(password, line).catch(() => undefined)
  if (upgraded === undefined) return undefined
  return async (deps) => {
    await User.replaceHash(deps.db, user, upgraded)
  }
}
