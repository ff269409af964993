import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import { openRequest } from '../../resources/grants/open-request.ts'
import { presentOwnRequest } from '../../resources/grants/present.ts'
import { assertNotLocked } from '../../resources/lockouts/count-failure.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { type PasswordLogin, withPassword } from '../entry/login.ts'
import type { ownAccessRequest } from './schema.ts'

/**
 * Asks the admins for access to an app. The user sends the credentials of a login, since there is no token before access is
 * granted. Anything that depends on the account is disclosed only after correct credentials. Throws what a login throws up to the
 * gate, `account_suspended`, and what `openRequest` throws.
 */
export async function askForAccess(
  deps: Deps<Pool>,
  { message = null, ...credentials }: PasswordLogin & { message?: string | null | undefined },
  actor: Actor,
): Promise<{ request: z.output<typeof ownAccessRequest>; isNew: boolean }> {
  return withPassword(
    deps,
    credentials,
    {
      async use({ user, app, secondFactor, counted }) {
        const { lockKeys } = counted.way
        await assertNotLocked(deps, secondFactor.activatedAt === null ? lockKeys : [...lockKeys, secondFactorKey(user.id)])
        if (user.status !== 'active') throw new ApiError('account_suspended')
        if (!app) throw new ApiError('app_code_required')
        await giveBackAttempt(deps, counted.attempt)
        const { request, isNew } = await openRequest(deps, { user, app, message }, actor)
        return { request: presentOwnRequest(request), isNew }
      },
    },
    actor,
  )
}
