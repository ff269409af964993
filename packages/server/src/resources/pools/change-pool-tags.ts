import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertEmailFree } from '../users/assert-email-free.ts'
import { assertAdministrableWithout } from '../users/last-system-admin.ts'
import type { PooledUser } from '../users/present.ts'
import { changeUser } from '../users/update-user.ts'
import { presentPools } from './present.ts'
import type { ChangePoolTagsInput } from './schema.ts'

/**
 * Adds and removes pool tags of a user. Adding a pool that the user is already in, or removing one that is not a tag, does
 * nothing. Sessions go on, but only until their next refresh if their app reads no other pool of the user. Throws `not_found`,
 * `email_exists_in_pool`, `last_system_admin`, and `validation_failed` for removing the home pool.
 */
export async function changePoolTags(
  deps: Deps<Pool>,
  userId: string,
  { add = [], remove = [] }: ChangePoolTagsInput,
  actor: Actor,
): Promise<PooledUser> {
  remove.forEach((pool, index) => {
    if (add.includes(pool)) throw fieldError(`remove.${index}`, 'invalid_value', 'is also in add')
  })
  return changeUser(deps, userId, undefined, async (deps, user) => {
    const home = remove.indexOf(user.namespace)
    if (home !== -1) throw fieldError(`remove.${home}`, 'invalid_value', 'is the home pool; move the user to another one instead')
    const added = [...new Set(add)].filter((pool) => pool !== user.namespace && !user.tags.includes(pool))
    const removed = user.tags.filter((tag) => remove.includes(tag))
    if (added.length === 0 && removed.length === 0) return user

    await assertEmailFree(deps, { email: user.email, pools: added, exceptUserId: userId })
    const now = deps.clock()
    const rows = added.map((namespace) => ({ user_id: userId, namespace, created_at: now }))
    if (rows.length > 0) await UserNamespace.insert(deps.db, rows)
    await UserNamespace.deleteSome(deps.db, userId, removed)
    if (removed.length > 0) await assertAdministrableWithout(deps, userId)
    await User.update(deps.db, userId, { updated_at: now })
    const changed = { ...user, tags: [...user.tags.filter((tag) => !removed.includes(tag)), ...added] }
    const details = { before: presentPools(user), after: presentPools(changed) }
    await recordEvent(deps, { event: 'user.namespaces_changed', actor, userId, details })
    if (removed.length > 0) await raiseAccessFloor(deps, userId)
    return changed
  })
}
