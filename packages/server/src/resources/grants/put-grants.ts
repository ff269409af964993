import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { findUsersByRef } from '../users/find-users-by-ref.ts'
import { giveGrants } from './give-grants.ts'
import type { bulkGrantBody, bulkGrantItem } from './schema.ts'

type Item = z.output<typeof bulkGrantItem>

/**
 * Lets many users enter an app, in one transaction. Who is not found by the name given is told in the answer, and does not stop the
 * others. Answers in the order of the names; a user who is named twice is `unchanged` the second time. Throws `not_found` for the app,
 * and `validation_failed`.
 */
export async function putGrants(
  deps: Deps<Pool>,
  { appRef, users: names, ...input }: { appRef: string } & z.output<typeof bulkGrantBody>,
  actor: Actor,
): Promise<Item[]> {
  return transaction(deps, async (deps) => {
    const found = await findUsersByRef(deps, names)
    const ids = [...found.values()].flatMap((user) => ('id' in user ? [user.id] : []))
    // All of them before the app and before the first change, in one order: two such calls, or a call for one user, never wait in a ring.
    await User.lockAll(deps.db, ids)
    const app = await getKeptApp(deps, appRef)
    // One who was deleted before the lock was had is there no more.
    const users = await User.listByIds(deps.db, ids)
    const given = await giveGrants(deps, { users, app, ...input }, actor)
    const answers = new Map(users.map(({ id }, index) => [id, given[index]!]))
    return names.map((user): Item => {
      const named = found.get(user)!
      if (!('id' in named)) return { user, outcome: 'failed', ...named }
      const answer = answers.get(named.id)
      if (!answer) return { user, outcome: 'failed', code: 'user_not_found', message: `no user is named ${user}` }
      answers.set(named.id, { ...answer, outcome: 'unchanged' })
      return { user, ...answer }
    })
  })
}
