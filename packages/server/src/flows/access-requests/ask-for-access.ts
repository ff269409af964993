import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { clearable, email, optionalDeviceToken, optionalTwoFactorCode, password, stableCode, text } from '../../lib/fields.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import type { ownAccessRequest } from '../../lib/records.ts'
import { presentOwnRequest } from '../../resources/grants/grants.ts'
import { openRequest } from '../../resources/grants/requests.ts'
import { assertNotLocked } from '../../resources/lockouts/lockouts.ts'
import { giveBackAttempt } from '../../resources/rate-limits/rate-limits.ts'
import { withAttempt } from '../sign-in/attempt.ts'
import { type PasswordLogin, passwordAttempt, verifyPassword } from '../sign-in/login.ts'
import { checkSecondFactor } from '../sign-in/prove.ts'

/** Unknown members are accepted and ignored, as at a login. */
export const askForAccessBody = z
  .looseObject({
    email,
    password,
    app_code: stableCode,
    two_factor_code: optionalTwoFactorCode,
    device_token: optionalDeviceToken,
    message: clearable(text).meta({ description: 'For the admins who decide' }),
  })
  .meta({ id: 'AskForAccess' })

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
  return withAttempt(deps, passwordAttempt(deps, credentials), actor, async ({ app, user: named }, { attempt, way }) => {
    const user = await verifyPassword(deps, credentials.password, named, hashLineOf(actor, way.device))
    const second = await checkSecondFactor(deps, user, credentials.two_factor_code, actor)
    await assertNotLocked(deps, second ? [...way.lockKeys, secondFactorKey(user.id)] : way.lockKeys)
    if (user.status !== 'active') throw new ApiError('account_suspended')
    if (!app) throw new ApiError('app_code_required')
    await giveBackAttempt(deps, attempt)
    const { request, isNew } = await openRequest(deps, { user, app, message }, actor)
    return { request: presentOwnRequest(request), isNew }
  })
}
