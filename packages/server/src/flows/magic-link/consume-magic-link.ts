import { type Deps, transaction } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, clearFailures, lockoutKey } from '../../resources/lockouts/count-failure.ts'
import { type CredentialsTry, settleTry } from '../../resources/lockouts/settle-try.ts'
import { assertMagicLinkAllowed } from '../../resources/mail/assert-magic-link-allowed.ts'
import { getMailToken, invalidToken, type MailToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { giveBackAttempt, takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { raiseFloor } from '../../resources/revocations/end-sessions.ts'
import { passSecondFactor } from '../../resources/second-factors/pass-second-factor.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import { claimAccount } from '../../resources/users/claim-account.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { accountKey } from '../login/account-key.ts'
import { recordLoginFailure } from '../login/record-login-failure.ts'
import type { ConsumeMagicLinkInput } from './schema.ts'

export interface MagicLogin {
  tokens: TokenAnswer
  /** Where the user goes on; the app allowed it when the mail was asked for. */
  redirectUrl: string | null
}

/**
 * Logs in with the token of a mail, which stands for the password: everything else is as at a login, limits, lockout, second factor and
 * gate (decisions 5). A try that fails spends nothing. The first one on an address that nobody had verified takes the account over.
 * Throws `invalid_token`, `auth_method_not_allowed`, `rate_limited`, `account_locked`, `two_factor_required`, `invalid_two_factor_code`
 * and what the gate throws.
 */
export async function consumeMagicLink(deps: Deps, input: ConsumeMagicLinkInput, actor: Actor): Promise<MagicLogin> {
  const found = await getMailToken(deps, input.token, 'magic_link')
  const app = await App.query(deps.db).findById(found.app_id)
  if (!app) throw invalidToken()
  assertMagicLinkAllowed(app)
  const attempt = await takeAttempt(deps, accountKey(deps, found.email), deps.config.accountLimit)
  const tried: CredentialsTry = { attempt, email: found.email, user: { id: found.user_id }, app }
  try {
    tried.lockKey = lockoutKey(deps, { userId: found.user_id, email: found.email, appId: app.id })
    await assertNotLocked(deps, tried.lockKey)
    const tokens = await enter(deps, { found, app, code: input.two_factor_code, tried }, actor)
    return { tokens, redirectUrl: found.redirect_url }
  } catch (thrown) {
    const error = await settleTry(deps, tried, thrown, actor)
    if (error instanceof ApiError) await recordLoginFailure(deps, error, tried, actor)
    throw error
  }
}

interface Entering {
  found: MailToken
  app: App
  code: string | undefined
  tried: CredentialsTry
}

async function enter(deps: Deps, entering: Entering, actor: Actor): Promise<TokenAnswer> {
  const { found, app, code, tried } = entering
  // Pools may have changed since the mail: whoever a login through the app would not find, does not come in by a link either.
  const before = await findUserInPools(deps, found.email, poolSet(app))
  if (before?.id !== found.user_id) throw invalidToken()
  // A code is spent by itself, before the transaction. An account that is about to be taken over is not asked for one.
  const isVerified = before.email_verified_at !== null
  const secondFactor = isVerified ? await passSecondFactor(deps, before, code, actor) : undefined
  const answer = await transaction(deps, async (deps) => {
    if (!secondFactor && (await isVerifiedNow(deps, found.user_id))) return undefined
    const user = await spendMailToken(deps, found)
    const claimed = secondFactor ? undefined : await claimAccount(deps, user, found.app_id, actor)
    const entry = claimed ?? { user, secondFactor: secondFactor! }
    const tokens = await openSession(deps, { ...entry, app, overrides: {}, authMethod: 'magic_link' }, actor)
    await clearFailures(deps, tried.lockKey!, { unlessLocked: true })
    await giveBackAttempt(deps, tried.attempt)
    const details = { auth_method: 'magic_link' }
    await recordEvent(deps, { event: 'login.success', actor, userId: user.id, appId: app.id, details })
    if (claimed) await raiseFloor(deps, { userId: user.id, appId: null, reason: 'credentials.removed' })
    return tokens
  })
  return answer ?? enter(deps, entering, actor)
}

/** Whether somebody verified the address since it was read: then there may be a second factor to ask for, and nothing was spent yet. */
async function isVerifiedNow(deps: Deps, userId: string): Promise<boolean> {
  await lockUserRow(deps, userId)
  return (await getUser(deps, userId)).email_verified_at !== null
}
