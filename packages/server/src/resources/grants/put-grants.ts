import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { lockAdministrationOf } from '../users/assert-administrable.ts'
import { findUsersByRef } from '../users/find-users-by-ref.ts'
import { giveGrants } from './give-grants.ts'
import type { bulkGrantBody, bulkGrantItem } from './schema.ts'

type Item = z.output<typeof bulkGrantItem>

/**
 * Grants many users access to an app, in one transaction. A name that matches no single user becomes a failed item in the answer
 * and does not stop the others. The items are in the order of the names; a user who is named twice is `unchanged` the second
 * time. Throws `not_found` for the app, and `validation_failed`.
 */
export async function putGrants(
  deps: Deps<Pool>,
  { appRef, users: names, ...input }: { appRef: string } & z.output<typeof bulkGrantBody>,
  actor: Actor,
): Promise<Item[]> {
  return transaction(deps, async (deps) => {
    const found = await findUsersByRef(deps, names)
    const ids = [...found.values()].flatMap((user) => ('id' in user ? [user.id] : []))
    // Lock all users before the app and before the first change, in one fixed order, so that concurrent calls cannot deadlock.
    await User.lockAll(deps.db, ids)
    if (input.expires_at != null) await lockAdministrationOf(deps, ...ids)
    const app = await getKeptApp(deps, appRef)
    // Read the users again under the lock: one may have been deleted meanwhile.
    const users = await User.listByIds(deps.db, ids)
    const given = await giveGrants(deps, { users, app, ...input }, actor)
    const answers = new Map(users.map(({ id }, index) => [id, given[index]!]))
    return names.map((user): Item => {
      const named = found.get(user)!
      if (!('id' in named)) return { user, outcome: 'failed', ...named }
      const answer = answers.get(named.id)
      if (!answer) return { user, outcome: 'failed', code: 'user_not_found', message: `no user matches ${user}` }
      answers.set(named.id, { ...answer, outcome: 'unchanged' })
      return { user, ...answer }
    })
  })
}
