import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvents } from '../audit/record-event.ts'
import { type GrantRow, presentGrant } from './present.ts'

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
