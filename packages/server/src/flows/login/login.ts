import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership, TokenAnswer } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, clearFailures, lockoutKey } from '../../resources/lockouts/count-failure.ts'
import { type CredentialsTry, settleTry } from '../../resources/lockouts/settle-try.ts'
import { giveBackAttempt, takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { passSecondFactor, type SecondFactorProof } from '../../resources/second-factors/pass-second-factor.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { accountKey } from './account-key.ts'
import { recordLoginFailure } from './record-login-failure.ts'
import type { LoginInput } from './schema.ts'
import { upgradeHash } from './upgrade-hash.ts'
import { verifyPassword } from './verify-password.ts'

/** How `register_or_login` joins an organization: in the login's transaction, once the credentials are right, before the gate. */
export type AcceptInvitation = (deps: Deps<Tx>, user: PooledUser) => Promise<Membership>

/**
 * Login with a password: contract 4.5, step by step. What must not be told apart (wrong password, unknown user, one outside the
 * app's pools, a deleted one) takes the same time and gives the same `invalid_credentials`; everything that depends on the account
 * is disclosed only after a right password. Throws also `rate_limited`, `account_locked`, `app_code_required`, `app_not_found` and
 * what the gate throws.
 */
export async function login(
  deps: Deps<Pool>,
  input: LoginInput,
  actor: Actor,
  acceptInvitation?: AcceptInvitation,
): Promise<TokenAnswer> {
  const attempt = await takeAttempt(deps, accountKey(deps, input.email), deps.config.accountLimit) // step 1
  const tried: CredentialsTry = { attempt, email: input.email }
  try {
    const app = await resolveApp(deps, input.app_code) // step 2
    tried.app = app
    const user = await findUserInPools(deps, input.email, poolSet(app)) // step 3; undefined is no answer yet
    tried.user = user
    const lockKey = lockoutKey(deps, { userId: user?.id, email: input.email, appId: app?.id })
    tried.lockKey = lockKey
    await assertNotLocked(deps, lockKey) // step 4; suspended waits for the gate, deleted users are not found
    const verified = await verifyPassword(deps, input.password, user) // step 5
    const secondFactor = await passSecondFactor(deps, verified, input.two_factor_code, actor) // step 6
    const upgradedHash = await upgradeHash(deps, input.password, verified)

    return await transaction(deps, async (deps) => {
      const invitedTo = await acceptInvitation?.(deps, verified)
      const answer = await openSession(deps, { ...entryOf(input, app, verified, secondFactor), invitedTo }, actor) // steps 7 to 9
      await clearFailures(deps, lockKey, { unlessLocked: true })
      await giveBackAttempt(deps, attempt)
      if (upgradedHash) await User.replaceHash(deps.db, verified, upgradedHash)
      await recordEvent(deps, { event: 'login.success', actor, userId: verified.id, appId: app?.id ?? null }) // step 10
      return answer
    })
  } catch (thrown) {
    const error = await settleTry(deps, tried, thrown, actor)
    if (error instanceof ApiError && tried.app !== undefined) await recordLoginFailure(deps, error, tried, actor) // step 10
    throw error
  }
}

/** contract 4.5 step 2. Without an app only where the settings allow it; the pool set is then `default`. */
async function resolveApp(deps: Deps, code: string | undefined): Promise<App | null> {
  if (code !== undefined) return getActiveApp(deps, code)
  if (deps.config.requireAppCode) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return null
}

function entryOf(input: LoginInput, app: App | null, user: PooledUser, secondFactor: SecondFactorProof) {
  return {
    user,
    secondFactor,
    app,
    organizationId: input.organization_id,
    overrides: { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes },
    authMethod: 'password',
  }
}
