import { ApiError } from '../../errors.ts'
import { isUnproven } from '../../lib/account-record.ts'
import type { PooledUser } from './present.ts'

/** Throws `account_unverified` for an unproven account. The result is reliable only under the lock of the user's row. */
export function assertProven(user: PooledUser): void {
  if (!isUnproven(user)) return
  throw new ApiError('account_unverified', {
    detail: `Nobody has proven yet that the account ${user.email} and the mailbox are theirs, so someone else may have registered it`,
  })
}
