import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { type AccountRecord, unprovenWarnings } from '../../lib/account-record.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { only } from '../../lib/collections.ts'
import type { Page } from '../../lib/keyset.ts'
import { grantStateAt, type ownAccessRequest } from '../../lib/records.ts'
import { iso, isoOrNull, isTooSoon } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import type { FullRequest } from '../../models/access-request.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { type GrantStateRow, UserApp } from '../../models/user-app.ts'
import { getApp, getKeptApp } from '../apps/apps.ts'
import { recordEvents } from '../audit/record-event.ts'
import { endTokensOfApp, raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertAdministrableWithout, lockAdministrationOf } from '../users/administration.ts'
import { findUsersByRef, type UnknownUser } from '../users/find-users.ts'
import { pooled, presentUser } from '../users/present.ts'
import { getUser, lockUser } from '../users/users.ts'
import { closeRequests } from './close-requests.ts'
import type {
  accessRequestRecord,
  bulkGrantBody,
  bulkGrantItem,
  bulkRevokeAnswer,
  bulkRevokeBody,
  GrantInput,
  givenGrant,
  grantPage,
  grantRecord,
  listGrantsQuery,
} from './schema.ts'

/** What the gate needs to know about a `user_apps` row. `expiresAt` is in milliseconds. */
export interface GrantState {
  /** Whether there is a row at all, active or not. Auto-grant applies only without a row. */
  exists: boolean
  isActive: boolean
  /** Revoked on purpose: this keeps holders of system_admin even out of the built-in app. */
  isRevoked: boolean
  expiresAt: number | null
}

export async function findGrantState(deps: Deps, userId: string, appId: string): Promise<GrantState> {
  return grantStateOf(deps, await UserApp.find(deps.db, { user_id: userId, app_id: appId }).select('status', 'expires_at'))
}

/** A grant is not active if it has expired, or ends before a token of it could be used. */
export function grantStateOf(deps: Deps, grant: GrantStateRow | undefined): GrantState {
  if (!grant) return { exists: false, isActive: false, isRevoked: false, expiresAt: null }
  return {
    exists: true,
    isActive: grant.status === 'active' && (grant.expires_at === null || !isTooSoon(grant.expires_at, deps.clock())),
    isRevoked: grant.status === 'revoked',
    expiresAt: grant.expires_at,
  }
}

/** What was done for one of many users, as an admin named it. */
type Outcome<A> = { user: string } & (A | { outcome: 'unchanged' } | ({ outcome: 'failed' } & UnknownUser))

/**
 * Finds the users whom an admin names, locks their rows, and calls `act` once for all of them, in one transaction. A name that
 * matches no single user, or one for whom `act` has no answer, becomes a failed item and does not stop the others. The items are
 * in the order of the names; a user who is named twice is `unchanged` the second time.
 */
async function forNamedUsers<A extends object>(
  deps: Deps<Pool>,
  names: readonly string[],
  act: (deps: Deps<Tx>, userIds: string[]) => Promise<Map<string, A>>,
): Promise<Outcome<A>[]> {
  return transaction(deps, async (deps) => {
    const found = await findUsersByRef(deps, names)
    const ids = [...new Set([...found.values()].flatMap((user) => ('id' in user ? [user.id] : [])))]
    // Lock all users before the app and before the first change, in one fixed order, so that concurrent calls cannot deadlock.
    await User.lockAll(deps.db, ids)
    const answers = await act(deps, ids)
    const answered = new Set<string>()
    return names.map((user): Outcome<A> => {
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

/** The shortest grant. A login takes some time: if the grant were shorter, its tokens would be dead when they arrive. */
const shortestMs = 5_000

interface GiveInput extends GrantInput {
  /** Without duplicates. The transaction must hold the locks of their rows. */
  users: readonly (AccountRecord & { id: string; email: string })[]
  app: Pick<App, 'id' | 'code'>
}

interface GrantOutcome {
  outcome: 'granted' | 'updated' | 'unchanged'
  grant: z.output<typeof givenGrant>
}

/**
 * Grants users access to an app. An active grant changes only in the fields that are given; if it now ends earlier, the access
 * tokens already issued for it are dead. A revoked or expired grant starts over, and its old tokens stay dead because the minimum
 * token version stays. Open requests of the users are closed as approved. Returns results in the order of
 * the users. Throws `validation_failed`, and `last_system_admin` if the grant of the last one now ends.
 */
export async function giveGrants(deps: Deps<Tx>, input: GiveInput, actor: Actor): Promise<GrantOutcome[]> {
  const { users, app, expires_at, reason } = input
  const now = deps.clock()
  if (expires_at != null && expires_at < now + shortestMs)
    throw fieldError('expires_at', 'invalid_value', `must be at least ${shortestMs / 1000} seconds from now`)

  const before = await grantsByUser(deps, app, users)
  const given = { ...(expires_at === undefined ? {} : { expires_at }), ...(reason === undefined ? {} : { reason }) }
  const fresh = {
    status: 'active',
    granted_via: 'admin',
    granted_by: actorIdOf(actor),
    granted_at: now,
    revoked_at: null,
    expires_at: expires_at ?? null,
    reason: reason ?? null,
  } as const
  const outcomeOf = ({ id }: { id: string }): GrantOutcome['outcome'] => {
    const grant = before.get(id)
    if (!grant || grantStateAt(grant, now) !== 'active') return 'granted'
    return Object.keys(given).length > 0 ? 'updated' : 'unchanged'
  }
  const granted = users.filter((user) => outcomeOf(user) === 'granted')
  const updated = users.filter((user) => outcomeOf(user) === 'updated')
  if (updated.length > 0) await grantsOf(deps, app, updated).patch(given)
  const again = granted.filter(({ id }) => before.has(id))
  if (again.length > 0) await grantsOf(deps, app, again).patch(fresh)
  const missing = granted.filter(({ id }) => !before.has(id))
  await UserApp.insertBulk(
    deps.db,
    missing.map((user) => ({ id: newId(now), user_id: user.id, app_id: app.id, ...fresh })),
  )

  const after = await grantsByUser(deps, app, users)
  const shown = (grant: GrantRow | undefined) => grant && presentGrant(grant, app.code, now)
  const limited = updated.filter(({ id }) => before.get(id)?.expires_at === null && after.get(id)?.expires_at !== null)
  await assertAdministrableWithout(deps, ...idsOf(limited))
  const changed = users.filter((user) => outcomeOf(user) !== 'unchanged')
  await recordEvents(
    deps,
    changed.map(({ id }) => ({
      event: 'grant.created',
      actor,
      userId: id,
      appId: app.id,
      details: { before: shown(before.get(id)) ?? null, after: shown(after.get(id)) },
    })),
  )
  await closeRequests(deps, { app, users, status: 'approved', reason: reason ?? null }, actor)
  for (const { id } of updated) {
    const until = before.get(id)?.expires_at ?? Number.POSITIVE_INFINITY
    if (expires_at != null && expires_at < until) await raiseAccessFloor(deps, id, [app.id])
  }
  return users.map((user) => ({
    outcome: outcomeOf(user),
    grant: { ...presentGrant(after.get(user.id)!, app.code, now), ...unprovenWarnings(user) },
  }))
}

async function grantsByUser(deps: Deps, app: { id: string }, users: readonly { id: string }[]): Promise<Map<string, GrantRow>> {
  return new Map((await grantsOf(deps, app, users)).map((grant) => [grant.user_id, grant]))
}

function grantsOf(deps: Deps, app: { id: string }, users: readonly { id: string }[]) {
  return UserApp.list(deps.db, { app_id: app.id }).whereIn('user_id', idsOf(users))
}

function idsOf(users: readonly { id: string }[]): string[] {
  return users.map(({ id }) => id)
}

/** Grants one user access to an app. Throws `not_found`, `validation_failed`. */
export async function giveGrant(
  deps: Deps<Tx>,
  { userId, appRef, ...input }: { userId: string; appRef: string } & GrantInput,
  actor: Actor,
): Promise<GrantOutcome> {
  const { id } = await lockUser(deps, userId)
  if (input.expires_at != null) await lockAdministrationOf(deps, id)
  const app = await getKeptApp(deps, appRef)
  return only(await giveGrants(deps, { users: [await getUser(deps, id)], app, ...input }, actor))
}

/** Grants a user access to an app. Throws `not_found`, `validation_failed`. */
export async function putGrant(
  deps: Deps<Pool>,
  input: { userId: string; appRef: string } & GrantInput,
  actor: Actor,
): Promise<GrantOutcome> {
  return transaction(deps, (deps) => giveGrant(deps, input, actor))
}

type Item = z.output<typeof bulkGrantItem>

/** Grants many users access to an app, in one transaction. Throws `not_found` for the app, and `validation_failed`. */
export async function putGrants(
  deps: Deps<Pool>,
  { appRef, users: names, ...input }: { appRef: string } & z.output<typeof bulkGrantBody>,
  actor: Actor,
): Promise<Item[]> {
  return forNamedUsers(deps, names, async (deps, ids) => {
    if (input.expires_at != null) await lockAdministrationOf(deps, ...ids)
    const app = await getKeptApp(deps, appRef)
    // Read the users again under the lock: one may have been deleted meanwhile.
    const users = await User.listByIds(deps.db, ids)
    const given = await giveGrants(deps, { users, app, ...input }, actor)
    return new Map(users.map(({ id }, index) => [id, given[index]!]))
  })
}

/**
 * Revokes a user's access to an app. The row stays as `revoked`, the token version rises, and every token and session of this
 * user for this app is dead. Other apps are unaffected. Throws `not_found` if no grant is active, and `last_system_admin`.
 */
export async function revokeGrant(
  deps: Deps<Pool>,
  input: { userId: string; appRef: string },
  actor: Actor,
): Promise<z.output<typeof grantRecord>> {
  return transaction(deps, async (deps) => {
    const user = await lockUser(deps, input.userId)
    await lockAdministrationOf(deps, user.id)
    const app = await getKeptApp(deps, input.appRef)
    const [revoked] = await revokeAll(deps, { app, userIds: [user.id] }, actor)
    if (!revoked) throw new ApiError('not_found', { detail: 'The user has no active grant for this app' })
    return presentGrant(revoked, app.code, deps.clock())
  })
}

/**
 * Revokes the access of many users to an app, in one transaction. The items are as those of `putGrants`. Throws `not_found` for the
 * app, and `last_system_admin`.
 */
export async function revokeGrants(
  deps: Deps<Pool>,
  { appRef, users: names }: { appRef: string } & z.output<typeof bulkRevokeBody>,
  actor: Actor,
): Promise<z.output<typeof bulkRevokeAnswer>['items']> {
  return forNamedUsers(deps, names, async (deps, userIds) => {
    await lockAdministrationOf(deps, ...userIds)
    const app = await getKeptApp(deps, appRef)
    const users = await User.listByIds(deps.db, userIds)
    const revoked = new Map((await revokeAll(deps, { app, userIds }, actor)).map((grant) => [grant.user_id, grant]))
    return new Map(
      users.map(({ id }): [string, { outcome: 'revoked' | 'unchanged'; grant?: z.output<typeof grantRecord> }] => {
        const grant = revoked.get(id)
        return [id, grant ? { outcome: 'revoked', grant: presentGrant(grant, app.code, deps.clock()) } : { outcome: 'unchanged' }]
      }),
    )
  })
}

/**
 * Revokes the active grants of these users, whose rows are locked, and returns them. The app is kept from deletion before the first
 * change: the second change of a grant checks that its app exists, and would wait for a deletion that waits for the grant.
 */
async function revokeAll(
  deps: Deps<Tx>,
  { app, userIds }: { app: Pick<App, 'id' | 'code'>; userIds: readonly string[] },
  actor: Actor,
): Promise<GrantRow[]> {
  const revoked = await UserApp.revoke(deps.db, { app_id: app.id, userIds }, deps.clock())
  const losers = revoked.map(({ user_id }) => user_id)
  if (losers.length === 0) return []
  await assertAdministrableWithout(deps, ...losers)
  const told = revoked.map((grant) => ({ grant, appCode: app.code }))
  await auditRevokedGrants(deps, told, actor)
  await endTokensOfApp(deps, { userIds: losers, appId: app.id, reason: 'grant_revoked' })
  return revoked
}

/** Audits grants that have just been revoked, with what was taken: its end tells whether it may be given back. */
export async function auditRevokedGrants(
  deps: Deps<Tx>,
  revoked: readonly { grant: GrantRow; appCode: string }[],
  actor: Actor,
): Promise<void> {
  const now = deps.clock()
  await recordEvents(
    deps,
    revoked.map(({ grant, appCode }) => ({
      event: 'grant.revoked',
      actor,
      userId: grant.user_id,
      appId: grant.app_id,
      details: {
        before: presentGrant({ ...grant, status: 'active', revoked_at: null }, appCode, now),
        after: presentGrant(grant, appCode, now),
      },
    })),
  )
}

type ListRequest = z.output<typeof listGrantsQuery>
type ListedGrant = z.output<typeof grantPage>['items'][number]

/** The grants of a user, newest first, revoked ones too. Throws `not_found`. */
export async function listGrantsOfUser(deps: Deps, userId: string, request: ListRequest): Promise<Page<ListedGrant>> {
  const user = presentUser(await getUser(deps, userId))
  const now = deps.clock()
  const { items, nextCursor } = await UserApp.listPage(deps.db, { user_id: userId }, { ...request, now })
  return { items: items.map((grant) => ({ ...presentGrant(grant, grant.app.code, now), user })), nextCursor }
}

/** The grants of an app with their users, newest first, revoked ones too. Throws `not_found`. */
export async function listGrantsOfApp(deps: Deps, appRef: string, request: ListRequest): Promise<Page<ListedGrant>> {
  const app = await getApp(deps, appRef)
  const now = deps.clock()
  const { items, nextCursor } = await UserApp.listPage(deps.db, { app_id: app.id }, { ...request, now })
  return {
    items: items.map((grant) => ({ ...presentGrant(grant, app.code, now), user: presentUser(pooled(grant.user)) })),
    nextCursor,
  }
}

type GrantRow = Pick<
  UserApp,
  'user_id' | 'app_id' | 'status' | 'granted_via' | 'granted_by' | 'reason' | 'granted_at' | 'expires_at' | 'revoked_at'
>

/** A grant as it stands at `now`, in milliseconds. */
function presentGrant(grant: GrantRow, appCode: string, now: number): z.output<typeof grantRecord> {
  return {
    user_id: grant.user_id,
    app_id: grant.app_id,
    app_code: appCode,
    status: grant.status,
    effective: grantStateAt(grant, now),
    granted_via: grant.granted_via,
    granted_by: grant.granted_by,
    reason: grant.reason,
    granted_at: iso(grant.granted_at),
    expires_at: isoOrNull(grant.expires_at),
    revoked_at: isoOrNull(grant.revoked_at),
  }
}

/** A request as its own user sees it. */
export function presentOwnRequest({ id, status, message, app, created_at }: FullRequest): z.output<typeof ownAccessRequest> {
  return { id, app: { id: app.id, code: app.code }, status, message, created_at: iso(created_at) }
}

/** A request as admins see it. */
export function presentRequest(request: FullRequest): z.output<typeof accessRequestRecord> {
  const { user, reason, decided_by, decided_at } = request
  return {
    ...presentOwnRequest(request),
    user: { id: user.id, email: user.email, namespace: user.namespace },
    reason,
    decided_by,
    decided_at: isoOrNull(decided_at),
  }
}
