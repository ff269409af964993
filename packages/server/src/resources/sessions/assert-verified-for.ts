import { ApiError } from '../../errors.ts'
import { isVerifiedFor } from '../../lib/account-record.ts'
import type { App } from '../../models/app.ts'
import type { PooledUser } from '../users/present.ts'

/** Throws `email_unverified` if the app asks for a verified address and the user has none. */
export function assertVerifiedFor(app: App | null, user: Pick<PooledUser, 'mailbox_proven_at'>): void {
  if (isVerifiedFor(app, user)) return
  throw new ApiError('email_unverified', {
    detail: 'Verify the address with the link from a mail together with the password, or sign in with a magic link',
  })
}
