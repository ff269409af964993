import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { tryCredentials } from './prove-again.ts'

/** What somebody brings beside the link of a mail. */
export interface Holding {
  password?: string | undefined
  bearer?: string | undefined
}

/**
 * Whether whoever has the link of a mail also holds the account that it is about, by its password or the token of one of its sessions. Only
 * both together show that the mailbox and the account belong to one person. A bearer that is not good counts as none. A wrong password
 * counts as a failed login: throws `invalid_credentials`, `account_locked`, `rate_limited`.
 */
export async function holdsAccount(
  deps: Deps<Pool>,
  { userId, appId }: { userId: string; appId: string },
  { password, bearer }: Holding,
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
