import { ApiError } from '../../errors.ts'
import { isUnproven } from '../../lib/account-record.ts'
import type { PooledUser } from './present.ts'

/** Throws `account_unverified` for an unproven account. The result is reliable only under the lock of the user's row. */
export function assertProven(user: PooledUser): void {
  if (!isUnproven(user)) return
  throw new ApiError('account_unverified', {
    detail: `The account ${user.email} was registered, and nobody has verified an address of it since`,
  })
}
