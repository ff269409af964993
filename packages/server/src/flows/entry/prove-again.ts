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
import { byPassword, bySession } from './way-in.ts'
import { withAttempt } from './with-attempt.ts'

/**
 * Asks a logged-in user for the credentials again, so that a stolen access token is not enough. Guesses are limited, counted and
 * answered like those at a login, but wrong passwords count against the session: neither do strangers who lock the password of
 * the address bar its user, nor do guesses bar a login. Success clears no failures. Checks only the credentials that are given,
 * and a code only if a second factor is active. Throws `rate_limited`, `account_locked`, `invalid_credentials`,
 * `invalid_two_factor_code`.
 */
export async function proveAgain(
  deps: Deps<Pool>,
  { caller, password, code }: { caller: UserCaller; password?: string | undefined; code?: string | undefined },
  actor: Actor,
): Promise<void> {
  await limitUser(deps, caller)
  const user = await getUser(deps, caller.userId)
  await tryCredentials(deps, { user, appId: caller.appId, sessionId: caller.sessionId, password, code }, actor)
}

interface TriedCredentials {
  user: PooledUser
  appId: string | null
  sessionId?: string | undefined
  password?: string | undefined
  code?: string | undefined
  /** Whether a code is required if a second factor is active. Otherwise only a given one is checked. */
  asksCode?: boolean
}

/**
 * Like `proveAgain`, but without the limit per user, also for a caller who has no session: then wrong passwords count like those
 * at a login through an app that sees the user's pools.
 */
export async function tryCredentials(
  deps: Deps<Pool>,
  { user, appId, sessionId, password, code, asksCode = code !== undefined }: TriedCredentials,
  actor: Actor,
): Promise<void> {
  const app = appId === null ? null : { id: appId }
  const way =
    sessionId === undefined
      ? byPassword(deps, { email: user.email, pools: poolsOf([user]), user, users: [user] })
      : bySession(deps, user, sessionId)
  await withAttempt(
    deps,
    {
      target: { email: user.email, user, app },
      way: () => way,
      async prove(_, { attempt }) {
        if (password !== undefined) await verifyPassword(deps, password, user, hashLineOf(actor))
        if (asksCode) await passSecondFactor(deps, user, code, actor)
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
