import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { unprovenWarnings } from '../../lib/account-record.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { grantStateAt } from '../../lib/grant-state.ts'
import { newId } from '../../lib/uuid.ts'
import { UserApp } from '../../models/user-app.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseAccessFloor } from '../revocations/raise-access-floor.ts'
import { getUser, lockUser } from '../users/get-user.ts'
import { presentGrant } from './present.ts'
import type { GrantInput, givenGrant } from './schema.ts'

/** A login takes its time: with less, its tokens would be dead when they arrive. */
const shortestMs = 5_000

/**
 * Lets a user enter an app. An active grant changes only in what was given, and where it is shortened, the access tokens that were given
 * out on it are dead. A revoked or expired one starts afresh, and its old tokens stay dead, since their floor stays. Throws `not_found`, `validation_failed`.
 */
export async function putGrant(
  deps: Deps<Pool>,
  input: { userId: string; appRef: string } & GrantInput,
  actor: Actor,
): Promise<{ created: boolean; grant: z.output<typeof givenGrant> }> {
  const now = deps.clock()
  if (input.expires_at != null && input.expires_at < now + shortestMs)
    throw fieldError('expires_at', 'invalid_value', `must be at least ${shortestMs / 1000} seconds from now`)
  return transaction(deps, async (deps) => {
    const user = await lockUser(deps, input.userId)
    const app = await getKeptApp(deps, input.appRef)
    const key = { user_id: user.id, app_id: app.id }
    const current = await UserApp.find(deps.db, key)
    const isActive = current !== undefined && grantStateAt(current, now) === 'active'
    const settings = {
      ...(input.expires_at === undefined && isActive ? {} : { expires_at: input.expires_at ?? null }),
      ...(input.reason === undefined && isActive ? {} : { reason: input.reason ?? null }),
    }
    const fresh = {
      status: 'active',
      granted_via: 'admin',
      granted_by: actorIdOf(actor),
      granted_at: now,
      revoked_at: null,
    } as const
    const changes = { ...settings, ...(isActive ? {} : fresh) }
    if (current && Object.keys(changes).length > 0) await UserApp.update(deps.db, key, changes)
    if (!current) await UserApp.insert(deps.db, { id: newId(now), ...key, ...fresh, ...settings })
    const presented = presentGrant(await UserApp.get(deps.db, key), app.code, now)
    if (Object.keys(changes).length > 0) {
      const before = current ? presentGrant(current, app.code, now) : null
      await recordEvent(deps, {
        event: 'grant.created',
        actor,
        userId: user.id,
        appId: app.id,
        details: { before, after: presented },
      })
    }
    const warnings = unprovenWarnings(await getUser(deps, user.id))
    if (isActive && endsSooner(changes, current)) await raiseAccessFloor(deps, user.id, [app.id])
    return { created: !isActive, grant: { ...presented, ...warnings } }
  })
}

function endsSooner(after: Partial<Pick<UserApp, 'expires_at'>>, before: Pick<UserApp, 'expires_at'>): boolean {
  return after.expires_at != null && after.expires_at < (before.expires_at ?? Number.POSITIVE_INFINITY)
}
