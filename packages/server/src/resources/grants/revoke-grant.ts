import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { UserApp } from '../../models/user-app.ts'
import { getApp } from '../apps/get-app.ts'
import { recordEvents } from '../audit/record-event.ts'
import { raiseTokenVersion } from '../revocations/end-tokens.ts'
import { lockUser } from '../users/get-user.ts'
import { assertAdministrableWithout, lockAdministrationOf } from '../users/last-system-admin.ts'
import { type GrantRow, presentGrant } from './present.ts'
import type { grantRecord } from './schema.ts'

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
    const app = await getApp(deps, input.appRef)
    const revoked = await UserApp.revoke(deps.db, { user_id: user.id, app_id: app.id }, deps.clock())
    if (!revoked) throw new ApiError('not_found', { detail: 'The user has no active grant for this app' })
    await assertAdministrableWithout(deps, user.id)
    await recordRevocations(deps, [{ grant: revoked, appCode: app.code }], actor)
    await raiseTokenVersion(deps, { userId: user.id, appId: app.id, reason: 'grant_revoked' })
    return presentGrant(revoked, app.code, deps.clock())
  })
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
