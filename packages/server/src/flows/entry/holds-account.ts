import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { tryCredentials } from './prove-again.ts'

/** What the caller sends in addition to the token of a mail. */
export interface AccountEvidence {
  password?: string | undefined
  two_factor_code?: string | undefined
  bearer?: string | undefined
}

/**
 * Whether the holder of a mail link also holds the account, shown by its password or by the access token of one of its sessions.
 * Only both together show that the mailbox and the account belong to one person. An invalid bearer counts as none. A wrong
 * password counts as a failed login. With `asksCode`, a password is not enough if a second factor is active. Throws
 * `invalid_credentials`, `account_locked`, `rate_limited`, and with `asksCode` what `passSecondFactor` throws.
 */
export async function holdsAccount(
  deps: Deps<Pool>,
  { userId, appId, asksCode = false }: { userId: string; appId: string; asksCode?: boolean },
  { password, two_factor_code: code, bearer }: AccountEvidence,
  actor: Actor,
): Promise<boolean> {
  if (password !== undefined) {
    const user = await getUser(deps, userId)
    await tryCredentials(deps, { user, appId, password, ...(asksCode ? { code, asksCode } : {}) }, actor)
    return true
  }
  return bearer !== undefined && (await findUserId(deps, bearer)) === userId
}

async function findUserId(deps: Deps, bearer: string): Promise<string | undefined> {
  try {
    const caller = await authenticateCaller(deps, bearer)
    return caller.kind === 'user' ? caller.userId : undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}
