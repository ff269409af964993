import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { UserRole } from '../../models/user-role.ts'

const ROLE = 'system_admin'

/**
 * Throws `last_system_admin` when this user is the only one left who can administer the service. Comes before whatever takes that away
 * (the role, the state, the account), in its transaction, once the user's row is locked: of admins who remove one another at once, on
 * any number of servers, one stays.
 */
export async function assertOtherSystemAdmin(deps: Deps<Tx>, userId: string): Promise<void> {
  if (!(await UserRole.isHeldBy(deps.db, ROLE, userId))) return
  await lockUntilCommit(deps.db, 'system_admins')
  if (await UserRole.isHeldByOther(deps.db, ROLE, userId)) return
  throw new ApiError('last_system_admin', { detail: 'Make another active user system_admin first' })
}
