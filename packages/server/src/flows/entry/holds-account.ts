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
  bearer?: string | undefined
}

/**
 * Whether the holder of a mail link also holds the account, shown by its password or by the access token of one of its sessions.
 * Only both together show that the mailbox and the account belong to one person. An invalid bearer counts as none. A wrong
 * password counts as a failed login. Throws `invalid_credentials`, `account_locked`, `rate_limited`.
 */
export async function holdsAccount(
  deps: Deps<Pool>,
  { userId, appId }: { userId: string; appId: string },
  { password, bearer }: AccountEvidence,
  actor: Actor,
): Promise<boolean> {
  if (password !== undefined) {
    await tryCredentials(deps, { user: await getUser(deps, userId), appId, password }, actor)
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
