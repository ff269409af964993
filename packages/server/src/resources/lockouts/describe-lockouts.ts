import type { Deps } from '../../deps.ts'
import { addressPrefix, poolOfKey } from '../../lib/lock-keys.ts'
import type { Lockout } from '../../models/lockout.ts'
import { listUsersByIds } from '../users/find-user-in-pools.ts'
import type { LockoutView } from './present.ts'

/** Counters of failures as an admin sees them, each with the e-mail of its user if one is known. */
export async function describeLockouts(
  deps: Deps,
  counters: readonly Pick<Lockout, 'key' | 'user_id' | 'failures' | 'locked_until'>[],
): Promise<LockoutView[]> {
  const ids = counters.flatMap(({ user_id }) => user_id ?? [])
  const users = new Map((await listUsersByIds(deps, [...new Set(ids)])).map((user) => [user.id, user]))
  return counters.map(({ key, user_id, failures, locked_until }) => {
    const pool = poolOfKey(key) ?? null
    const email = (user_id && users.get(user_id)?.email) || null
    // The counter may belong to a former address of the user.
    const isOfAddress = email !== null && key.startsWith(addressPrefix(deps.config.encryptionKeys[0], email))
    return { key, pool, email: pool === null || isOfAddress ? email : null, lockedUntil: locked_until, failures }
  })
}
