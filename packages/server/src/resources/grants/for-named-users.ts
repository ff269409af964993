import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { User } from '../../models/user.ts'
import { findUsersByRef, type UnknownUser } from '../users/find-users-by-ref.ts'

/** What was done for one of many users, as an admin named it. */
type Item<A> = { user: string } & (A | { outcome: 'unchanged' } | ({ outcome: 'failed' } & UnknownUser))

/**
 * Finds the users whom an admin names, locks their rows, and calls `act` once for all of them, in one transaction. A name that
 * matches no single user, or one for whom `act` has no answer, becomes a failed item and does not stop the others. The items are
 * in the order of the names; a user who is named twice is `unchanged` the second time.
 */
export async function forNamedUsers<A extends object>(
  deps: Deps<Pool>,
  names: readonly string[],
  act: (deps: Deps<Tx>, userIds: string[]) => Promise<Map<string, A>>,
): Promise<Item<A>[]> {
  return transaction(deps, async (deps) => {
    const found = await findUsersByRef(deps, names)
    const ids = [...new Set([...found.values()].flatMap((user) => ('id' in user ? [user.id] : [])))]
    // Lock all users before the app and before the first change, in one fixed order, so that concurrent calls cannot deadlock.
    await User.lockAll(deps.db, ids)
    const answers = await act(deps, ids)
    const answered = new Set<string>()
    return names.map((user): Item<A> => {
      const named = found.get(user)!
      if (!('id' in named)) return { user, outcome: 'failed', ...named }
      const answer = answers.get(named.id)
      if (!answer) return { user, outcome: 'failed', code: 'user_not_found', message: `no user matches ${user}` }
      const isFirst = !answered.has(named.id)
      answered.add(named.id)
      return isFirst ? { user, ...answer } : { user, ...answer, outcome: 'unchanged' }
    })
  })
}
