import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { recordEvents } from '../audit/record-event.ts'
import { raiseTokenVersions } from '../revocations/end-tokens.ts'
import { lockUser } from '../users/get-user.ts'
import { assertAdministrableWithout, lockAdministrationOf } from '../users/last-system-admin.ts'
import { forNamedUsers } from './for-named-users.ts'
import { type GrantRow, presentGrant } from './present.ts'
import type { bulkRevokeAnswer, bulkRevokeBody, grantRecord } from './schema.ts'

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
  const revoked = await UserApp.revoke(deps.db, { appId: app.id, userIds }, deps.clock())
  const losers = revoked.map(({ user_id }) => user_id)
  if (losers.length === 0) return []
  await assertAdministrableWithout(deps, ...losers)
  const told = revoked.map((grant) => ({ grant, appCode: app.code }))
  await recordRevocations(deps, told, actor)
  await raiseTokenVersions(deps, { userIds: losers, appId: app.id, reason: 'grant_revoked' })
  return revoked
}

/** Audits grants that have just been revoked, with what was taken: its end tells whether it may be given back. */
export async function recordRevocations(
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
