import type { Deps } from '../../deps.ts'
import { asClaimable } from '../../lib/account-record.ts'
import { listGlobalRoles } from '../users/list-global-roles.ts'
import type { ClaimableAccount, PooledUser } from '../users/present.ts'
import { BASE_ROLE } from '../users/resolve-global-roles.ts'

/**
 * Returns the account if the first proof of its mailbox claims it: it is unproven and has no global role but `base_user`. An
 * admin who gave an unproven account another role knew whose it was, so that account keeps what it has. The answer is binding
 * only under the lock of the user's row.
 */
export async function findClaimable(deps: Deps, user: PooledUser): Promise<ClaimableAccount | undefined> {
  const account = asClaimable(user)
  if (!account) return undefined
  const roles = await listGlobalRoles(deps, account.id)
  return roles.every((role) => role === BASE_ROLE) ? account : undefined
}
