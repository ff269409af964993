import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { nameKeyOf, type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { isInPools } from '../../lib/pool-set.ts'
import { SharedEmail } from '../../models/shared-email.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, pooled, presentUser } from '../users/present.ts'
import { poolExists } from './list-pools.ts'
import type { collisionRecord } from './schema.ts'

/** The e-mails that two users would share if one app read both pools, in order. Throws `not_found` for an unknown `namespace`. */
export async function listCollisions(
  deps: Deps,
  pools: { namespace: string; with: string },
  request: PageRequest,
): Promise<Page<z.output<typeof collisionRecord>>> {
  if (!(await poolExists(deps, pools.namespace))) throw new ApiError('not_found', { detail: 'No user or app uses this pool' })
  const both = [pools.namespace, pools.with]
  const collisions = await findCollisions(deps, both, { after: request.cursor, most: rowsToRead(request) })
  const { items, nextCursor } = pageOf(collisions, request, ({ email }) => nameKeyOf(email))
  return { items: items.map(({ email, users }) => ({ email, users: users.map(presentUser) })), nextCursor }
}

/** An e-mail that several users of a set of pools share, and those users. They collide in an app that reads all of the pools. */
interface Collision {
  email: string
  users: PooledUser[]
}

/** How many shared e-mails one query reads. */
const portion = 500

/**
 * The e-mails that several users of these pools (home or tag) share, in order after `after`, at most `most`. It reads the e-mails
 * that several users share in any pools, which are few, and compares the pools of their users.
 */
export async function findCollisions(
  deps: Deps,
  pools: readonly string[],
  { after = '', most }: { after?: string | undefined; most: number },
): Promise<Collision[]> {
  const found: Collision[] = []
  let shared: string[] = []
  do {
    shared = await SharedEmail.list(deps.db, { after: shared.at(-1) ?? after, limit: portion })
    found.push(...(await collisionsAmong(deps, shared, pools)))
  } while (shared.length === portion && found.length < most)
  return found.slice(0, most)
}

/** The collisions in the order of the e-mails. The users of each are in the order of their pools. */
async function collisionsAmong(deps: Deps, emails: readonly string[], pools: readonly string[]): Promise<Collision[]> {
  if (emails.length === 0) return []
  const users = await User.listByEmailInPools(deps.db, emails, pools)
  const byEmail = new Map(emails.map((email): [string, PooledUser[]] => [email, []]))
  for (const user of users) byEmail.get(user.email)?.push(pooled(user))
  const rank = (user: PooledUser) => pools.findIndex((pool) => isInPools(user, [pool]))
  return [...byEmail]
    .filter(([, users]) => users.length > 1)
    .map(([email, users]) => ({ email, users: users.sort((a, b) => rank(a) - rank(b)) }))
}
