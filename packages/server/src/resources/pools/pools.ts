import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { id, list, page, pageByNameQuery, pool } from '../../lib/fields.ts'
import { nameKeyOf, type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { type collisionWarning, userRecord } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { listPoolsAfter, PoolSize } from '../../models/pool-size.ts'
import { SharedEmail } from '../../models/shared-email.ts'
import { User } from '../../models/user.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { recordEvent } from '../audit/record-event.ts'
import { endAllTokens, raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertAdministrableWithout } from '../users/administration.ts'
import { assertEmailFree } from '../users/find-users.ts'
import { type PooledUser, pooled, presentUser } from '../users/present.ts'
import { changeUser, getUser } from '../users/users.ts'

const poolRecord = z
  .object({
    namespace: z.string(),
    user_count: z.int().meta({ description: 'Users whose home pool it is, including suspended users but not deleted ones' }),
    tagged_user_count: z.int().meta({ description: 'Users who have it as a pool tag' }),
    apps: z
      .array(
        z.object({
          id,
          code: z.string(),
          as: z
            .enum(['registration', 'read'])
            .meta({ description: 'Whether the app registers users into the pool, or reads it' }),
        }),
      )
      .meta({ description: 'The apps that use it, by code' }),
  })
  .meta({ id: 'Pool' })

export const poolPage = page(poolRecord)

export const listCollisionsQuery = z.strictObject({
  ...pageByNameQuery,
  with: pool.meta({ description: 'The other pool' }),
})

const collisionRecord = z
  .object({
    email: z.string(),
    users: z.array(userRecord).meta({ description: 'The two users: of `{namespace}` first, then of `with`' }),
  })
  .meta({ id: 'Collision' })

export const collisionPage = page(collisionRecord)

export const moveUserBody = z
  .strictObject({ namespace: pool.meta({ description: 'The new home pool' }) })
  .meta({ id: 'MoveUser' })

export const changePoolTagsBody = z
  .strictObject({ add: list(pool).optional(), remove: list(pool).optional() })
  .meta({ id: 'ChangePoolTags' })
type ChangePoolTagsInput = z.output<typeof changePoolTagsBody>

export const userPools = z
  .object({ namespace: userRecord.shape.namespace, namespaces: userRecord.shape.namespaces })
  .meta({ id: 'UserPools' })

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
    await UserNamespace.add(deps.db, rows)
    await UserNamespace.deleteOfUser(deps.db, userId, removed)
    if (removed.length > 0) await assertAdministrableWithout(deps, userId)
    await User.change(deps.db, userId, { updated_at: now })
    const changed = { ...user, tags: [...user.tags.filter((tag) => !removed.includes(tag)), ...added] }
    const details = { before: presentPools(user), after: presentPools(changed) }
    await recordEvent(deps, { event: 'user.namespaces_changed', actor, userId, details })
    if (removed.length > 0) await raiseAccessFloor(deps, userId)
    return changed
  })
}

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
async function findCollisions(
  deps: Deps,
  pools: readonly string[],
  { after = '', most }: { after?: string | undefined; most: number },
): Promise<Collision[]> {
  const found: Collision[] = []
  let shared: string[] = []
  do {
    const next = SharedEmail.query(deps.db).where('email', '>', shared.at(-1) ?? after)
    shared = (await next.orderBy('email').limit(portion)).map(({ email }) => email)
    found.push(...(await collisionsAmong(deps, shared, pools)))
  } while (shared.length === portion && found.length < most)
  return found.slice(0, most)
}

/** The collisions in the order of the e-mails. The users of each are in the order of their pools. */
async function collisionsAmong(deps: Deps, emails: readonly string[], pools: readonly string[]): Promise<Collision[]> {
  if (emails.length === 0) return []
  const tagged = User.relatedQuery('tags', deps.db).whereIn('namespace', [...pools])
  const users = await User.query(deps.db)
    .whereIn('email', [...emails])
    .whereRaw("status <> 'deleted'")
    .where((any) => any.whereIn('namespace', [...pools]).orWhereExists(tagged))
    .orderBy('id')
    .withGraphFetched('tags')
  const byEmail = new Map(emails.map((email): [string, PooledUser[]] => [email, []]))
  for (const user of users) byEmail.get(user.email)?.push(pooled(user))
  const rank = (user: PooledUser) => pools.findIndex((pool) => isInPools(user, [pool]))
  return [...byEmail]
    .filter(([, users]) => users.length > 1)
    .map(([email, users]) => ({ email, users: users.sort((a, b) => rank(a) - rank(b)) }))
}

type PoolRecord = z.output<typeof poolRecord>

/** The pools that a user or an app names, by name. Finding a name takes one step into an index. */
export async function listPools(deps: Deps, request: PageRequest): Promise<Page<PoolRecord>> {
  const after = request.cursor ?? ''
  const most = rowsToRead(request)
  const apps = await appsByPool(deps)
  const named = [
    ...(await listPoolsAfter(deps.db, 'homes', { after, most })),
    ...(await listPoolsAfter(deps.db, 'tags', { after, most })),
    ...[...apps.keys()].filter((name) => name > after),
  ]
  const names = [...new Set(named)].sort().slice(0, most)
  const { items, nextCursor } = pageOf(names, request, nameKeyOf)
  const sizes = await PoolSize.listSums(deps.db, items)
  return {
    items: items.map((namespace) => ({
      namespace,
      user_count: sizes.get(namespace)?.homes ?? 0,
      tagged_user_count: sizes.get(namespace)?.tagged ?? 0,
      apps: apps.get(namespace) ?? [],
    })),
    nextCursor,
  }
}

/** Whether a user or an app names the pool. */
async function poolExists(deps: Deps, namespace: string): Promise<boolean> {
  const atHome = User.list(deps.db, { namespace }).whereRaw("status <> 'deleted'")
  if ((await atHome.orderBy('id').select('id').limit(1)).length > 0) return true
  const tagged = UserNamespace.list(deps.db, { namespace })
  if ((await tagged.orderBy('user_id').select('user_id').limit(1)).length > 0) return true
  return (await appsByPool(deps)).has(namespace)
}

async function appsByPool(deps: Deps): Promise<Map<string, PoolRecord['apps']>> {
  const apps = await App.listPools(deps.db)
  const byPool = new Map<string, PoolRecord['apps']>()
  for (const app of apps.sort((a, b) => (a.code < b.code ? -1 : 1))) {
    for (const pool of poolSet(app)) {
      const as = pool === app.registration_namespace ? 'registration' : 'read'
      byPool.set(pool, [...(byPool.get(pool) ?? []), { id: app.id, code: app.code, as }])
    }
  }
  return byPool
}

/**
 * Moves a user to another home pool. A tag of that pool is removed, and the old pool is not kept as a tag. Tokens name the home
 * pool, so all tokens die unless the pool stays the same. Throws `not_found`, `email_exists_in_pool`, `last_system_admin`.
 */
export async function moveUser(deps: Deps<Pool>, userId: string, namespace: string, actor: Actor): Promise<PooledUser> {
  return changeUser(deps, userId, undefined, async (deps, user) => {
    if (user.namespace === namespace) return user
    await assertEmailFree(deps, { email: user.email, pools: [namespace], exceptUserId: userId })
    await UserNamespace.deleteOfUser(deps.db, userId, [namespace])
    await User.change(deps.db, userId, { namespace, updated_at: deps.clock() })
    await assertAdministrableWithout(deps, userId)
    const moved = await getUser(deps, userId)
    const details = { before: presentPools(user), after: presentPools(moved) }
    await recordEvent(deps, { event: 'user.namespace_changed', actor, userId, details })
    await endAllTokens(deps, { userId, reason: 'user.namespace_changed' })
    return moved
  })
}

export { presentUser } from '../users/present.ts'

/** The pools of a user as answers show them. */
export function presentPools(user: PooledUser): z.output<typeof userPools> {
  const { namespace, namespaces } = presentUser(user)
  return { namespace, namespaces }
}

export type CollisionWarning = z.output<typeof collisionWarning>

/** Counting stops here. */
const mostCounted = 1_000
const mostWarnings = 200

/** Warns an app that reads these pools of the pairs of them that share e-mails. The app finds only one of the two users. */
export async function warnOfCollisions(deps: Deps, pools: readonly string[]): Promise<CollisionWarning[]> {
  if (pools.length < 2) return []
  const counts = new Map<string, { namespaces: [string, string]; count: number }>()
  for (const { users } of await findCollisions(deps, pools, { most: mostCounted })) {
    for (const [key, namespaces] of pairsOf(users.map(poolsWithin)))
      counts.set(key, { namespaces, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  const rank = ([first, second]: [string, string]) => pools.indexOf(first) * pools.length + pools.indexOf(second)
  return [...counts.values()]
    .sort((a, b) => rank(a.namespaces) - rank(b.namespaces))
    .slice(0, mostWarnings)
    .map(({ namespaces, count }) => {
      const message = `${count}${count === mostCounted ? ' or more' : ''} e-mails have one user in ${namespaces[0]} and another in ${namespaces[1]}`
      return { code: 'email_collisions', namespaces, count, message }
    })

  /** The pools that a user is in, in the order of the set. */
  function poolsWithin(user: PooledUser): string[] {
    return pools.filter((pool) => isInPools(user, [pool]))
  }

  /** The pairs of pools in which two of these users collide. Each pair is in pool order, and appears once, by a key. */
  function pairsOf(memberships: readonly string[][]): Map<string, [string, string]> {
    const pairs = new Map<string, [string, string]>()
    memberships.forEach((one, index) => {
      for (const other of memberships.slice(index + 1)) {
        for (const a of one) {
          for (const b of other) {
            const pair: [string, string] = pools.indexOf(a) < pools.indexOf(b) ? [a, b] : [b, a]
            pairs.set(pair.join(' '), pair)
          }
        }
      }
    })
    return pairs
  }
}
