import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseTokenVersion } from '../revocations/end-tokens.ts'
import { assertEmailFree } from '../users/assert-email-free.ts'
import { getUser } from '../users/get-user.ts'
import { assertAdministrableWithout } from '../users/last-system-admin.ts'
import type { PooledUser } from '../users/present.ts'
import { changeUser } from '../users/update-user.ts'
import { presentPools } from './present.ts'

/**
 * Moves a user to another home pool. A tag of that pool is removed, and the old pool is not kept as a tag. Tokens name the home
 * pool, so all tokens die unless the pool stays the same. Throws `not_found`, `email_exists_in_pool`, `last_system_admin`.
 */
export async function moveUser(deps: Deps<Pool>, userId: string, namespace: string, actor: Actor): Promise<PooledUser> {
  return changeUser(deps, userId, undefined, async (deps, user) => {
    if (user.namespace === namespace) return user
    await assertEmailFree(deps, { email: user.email, pools: [namespace], exceptUserId: userId })
    await UserNamespace.delete(deps.db, { user_id: userId, namespace })
    await User.update(deps.db, userId, { namespace, updated_at: deps.clock() })
    await assertAdministrableWithout(deps, userId)
    const moved = await getUser(deps, userId)
    const details = { before: presentPools(user), after: presentPools(moved) }
    await recordEvent(deps, { event: 'user.namespace_changed', actor, userId, details })
    await raiseTokenVersion(deps, { userId, appId: null, reason: 'user.namespace_changed' })
    return moved
  })
}
