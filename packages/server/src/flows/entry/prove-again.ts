import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked } from '../../resources/lockouts/count-failure.ts'
import { limitUser } from '../../resources/rate-limits/limit-user.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { passSecondFactor } from '../../resources/second-factors/pass-second-factor.ts'
import { getUser } from '../../resources/users/get-user.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { verifyPassword } from './verify-password.ts'
import { byPassword } from './way-in.ts'
import { withAttempt } from './with-attempt.ts'

/**
 * Asks a logged-in user for the credentials again, so that a stolen access token is not enough. Guesses are limited, counted and
 * answered like those at a password login through an app that sees the user's pools. Success clears no failures: only a complete
 * login does. Checks only the credentials that are given, and a code only if a second factor is active. Throws `rate_limited`,
 * `account_locked`, `invalid_credentials`, `invalid_two_factor_code`.
 */
export async function proveAgain(
  deps: Deps<Pool>,
  { caller, password, code }: { caller: UserCaller; password?: string | undefined; code?: string | undefined },
  actor: Actor,
): Promise<void> {
  await limitUser(deps, caller)
  const user = await getUser(deps, caller.userId)
  await tryCredentials(deps, { user, appId: caller.appId, password, code }, actor)
}

/** Like `proveAgain`, but without the limit per user, for a caller who has no session. */
export async function tryCredentials(
  deps: Deps<Pool>,
  {
    user,
    appId,
    password,
    code,
  }: { user: PooledUser; appId: string | null; password?: string | undefined; code?: string | undefined },
  actor: Actor,
): Promise<void> {
  const app = appId === null ? null : { id: appId }
  await withAttempt(
    deps,
    {
      target: { email: user.email, user, app },
      way: () => byPassword(deps, { email: user.email, pools: poolsOf([user]), user, users: [user] }),
      async prove(_, { attempt, way }) {
        if (password !== undefined) await verifyPassword(deps, password, user, hashLineOf(actor))
        if (code !== undefined) await passSecondFactor(deps, user, code, actor)
        await assertNotLocked(deps, code === undefined ? way.lockKeys : [...way.lockKeys, secondFactorKey(user.id)])
        await giveBackAttempt(deps, attempt)
      },
      async recordFailure({ code }) {
        const reason = code === 'invalid_credentials' ? 'wrong_password' : code
        await recordEvent(deps, { event: 'reauthentication.failed', actor, reason, userId: user.id, appId: app?.id ?? null })
      },
    },
    actor,
  )
}
