import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { type AccountRecord, unprovenWarnings } from '../../lib/account-record.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { grantStateAt } from '../../lib/grant-state.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { recordEvents } from '../audit/record-event.ts'
import { raiseAccessFloor } from '../revocations/end-tokens.ts'
import { getUser, lockUser } from '../users/get-user.ts'
import { assertAdministrableWithout, lockAdministrationOf } from '../users/last-system-admin.ts'
import { closeRequests } from './close-requests.ts'
import { forNamedUsers } from './for-named-users.ts'
import { type GrantRow, presentGrant } from './present.ts'
import type { bulkGrantBody, bulkGrantItem, GrantInput, givenGrant } from './schema.ts'

/** The shortest grant. A login takes some time: if the grant were shorter, its tokens would be dead when they arrive. */
const shortestMs = 5_000

interface GiveInput extends GrantInput {
  /** Without duplicates. The transaction must hold the locks of their rows. */
  users: readonly (AccountRecord & { id: string; email: string })[]
  app: Pick<App, 'id' | 'code'>
}

export interface GrantOutcome {
  outcome: 'granted' | 'updated' | 'unchanged'
  grant: z.output<typeof givenGrant>
}

/**
 * Grants users access to an app. An active grant changes only in the fields that are given; if it now ends earlier, the access
 * tokens already issued for it are dead. A revoked or expired grant starts over, and its old tokens stay dead because their floor
 * stays. Open requests of the users are closed as approved. Returns results in the order of
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
  await UserApp.updateBulk(deps.db, app.id, idsOf(updated), given)
  await UserApp.updateBulk(deps.db, app.id, idsOf(granted.filter(({ id }) => before.has(id))), fresh)
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
  const grants = await UserApp.listOfAppAndUsers(deps.db, app.id, idsOf(users))
  return new Map(grants.map((grant) => [grant.user_id, grant]))
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
  const [given] = await giveGrants(deps, { users: [await getUser(deps, id)], app, ...input }, actor)
  return given!
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
