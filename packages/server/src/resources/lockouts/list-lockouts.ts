import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { Lockout } from '../../models/lockout.ts'
import { describeLockouts } from './describe-lockouts.ts'
import type { LockoutView } from './present.ts'

/** Lists locks, and counters of failures that may become one, by key. */
export async function listLockouts(deps: Deps, request: PageRequest): Promise<Page<LockoutView>> {
  const now = deps.clock()
  const staleBefore = now - deps.config.lockoutSeconds * 1_000
  const { items, nextCursor } = await Lockout.listPage(deps.db, { ...request, now, staleBefore })
  return { items: await describeLockouts(deps, items), nextCursor }
}
