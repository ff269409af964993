import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { addressPrefix, poolOfKey } from '../../lib/lock-keys.ts'
import { Lockout } from '../../models/lockout.ts'
import { listUsersByIds } from '../users/find-user-in-pools.ts'
import type { LockoutView } from './present.ts'

/** Lists locks, and counters of failures that may become one, by key. */
export async function listLockouts(deps: Deps, request: PageRequest): Promise<Page<LockoutView>> {
  const now = deps.clock()
  const staleBefore = now - deps.config.lockoutSeconds * 1_000
  const { items, nextCursor } = await Lockout.listPage(deps.db, { ...request, now, staleBefore })
  const ids = items.flatMap(({ user_id }) => user_id ?? [])
  const users = new Map((await listUsersByIds(deps, [...new Set(ids)])).map((user) => [user.id, user]))
  return { items: items.map(viewOf), nextCursor }

  function viewOf({ key, user_id, failures, locked_until }: Lockout): LockoutView {
    const pool = poolOfKey(key) ?? null
    const email = (user_id && users.get(user_id)?.email) || null
    // The counter may belong to a former address of the user.
    const isOfAddress = email !== null && key.startsWith(addressPrefix(deps.config.encryptionKeys[0], email))
    return { key, pool, email: pool === null || isOfAddress ? email : null, lockedUntil: locked_until, failures }
  }
}
