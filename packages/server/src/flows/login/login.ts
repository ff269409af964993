import { type Deps, transaction } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import type { LoginInput } from './schema.ts'

/**
 * Login with a password: contract 4.5, step by step. What must not be told apart (wrong password, unknown user, one outside the
 * app's pools, a deleted one) takes the same time and gives the same `invalid_credentials`; everything that depends on the account
 * is disclosed only after a right password. Throws also `app_code_required`, `app_not_found` and what the gate throws.
 */
export async function login(deps: Deps, input: LoginInput, actor: Actor): Promise<TokenAnswer> {
  const app = await resolveApp(deps, input.app_code) // step 2
  const user = await findUserInPools(deps, input.email, poolSet(app)) // step 3; undefined is no answer yet
  try {
    const verified = await verifyPassword(deps, input.password, user) // step 5
    return await transaction(deps, async (deps) => {
      const answer = await openSession(deps, entryOf(input, app, verified), actor) // steps 7 to 9
      await recordEvent(deps, { event: 'login.success', actor, userId: verified.id, appId: app?.id ?? null }) // step 10
      return answer
    })
  } catch (error) {
    if (error instanceof ApiError) await recordFailure(deps, error, { input, app, user }, actor) // step 10
    throw error
  }
}

/** contract 4.5 step 2. Without an app only where the settings allow it; the pool set is then `default`. */
async function resolveApp(deps: Deps, code: string | undefined): Promise<App | null> {
  if (code !== undefined) return getActiveApp(deps, code)
  if (deps.config.requireAppCode) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return null
}

/** One bcrypt at the configured cost whatever the user is, so that time tells nothing. */
async function verifyPassword(deps: Deps, password: string, user: PooledUser | undefined): Promise<PooledUser> {
  const matches = await deps.passwords.verify(password, user?.password_hash)
  if (!matches || !user) throw new ApiError('invalid_credentials')
  return user
}

function entryOf(input: LoginInput, app: App | null, user: PooledUser) {
  return {
    user,
    app,
    organizationId: input.organization_id,
    overrides: { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes },
    authMethod: 'password',
  }
}

async function recordFailure(
  deps: Deps,
  error: ApiError,
  { input, app, user }: { input: LoginInput; app: App | null; user: PooledUser | undefined },
  actor: Actor,
): Promise<void> {
  const reason = error.code !== 'invalid_credentials' ? error.code : user ? 'wrong_password' : 'unknown_user'
  await recordEvent(deps, {
    event: 'login.failed',
    actor,
    reason,
    userId: user?.id ?? null,
    appId: app?.id ?? null,
    details: { email: input.email },
  })
}
