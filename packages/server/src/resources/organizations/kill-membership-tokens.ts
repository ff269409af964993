import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { MembershipKey } from '../../models/organization-membership.ts'
import { Session } from '../../models/session.ts'
import { raiseAccessFloor } from '../revocations/raise-access-floor.ts'

/**
 * Kills the access tokens for an organization that their user has left or lost roles in: all those for the apps where the user
 * has a session in it. Needs a transaction that holds the lock of the user's row, and comes last in it.
 */
export async function killMembershipTokens(deps: Deps<Tx>, { organizationId, userId }: MembershipKey): Promise<void> {
  const appIds = await Session.listAppIdsIn(deps.db, { userId, organizationId, now: deps.clock() })
  await raiseAccessFloor(deps, userId, appIds)
}
