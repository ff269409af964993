import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import { claimByMailbox } from '../../resources/account-claims/claim-accounts.ts'
import { findClaimable } from '../../resources/account-claims/find-claimable.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, clearFailures, lockoutKey } from '../../resources/lockouts/count-failure.ts'
import { type CredentialsTry, settleTry } from '../../resources/lockouts/settle-try.ts'
import { assertMagicLinkAllowed } from '../../resources/mail/assert-magic-link-allowed.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { giveBackAttempt, takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { passSecondFactor } from '../../resources/second-factors/pass-second-factor.ts'
import { type NewEntry, openSession } from '../../resources/sessions/open-session.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
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
 * gate. A try that fails spends nothing. It verifies the address, and claims an unproven account.
 * Throws `invalid_token`, `auth_method_not_allowed`, `rate_limited`, `account_locked`, `two_factor_required`, `invalid_two_factor_code`
 * and what the gate throws.
 */
export async function consumeMagicLink(deps: Deps<Pool>, input: ConsumeMagicLinkInput, actor: Actor): Promise<MagicLogin> {
  const found = await getMailToken(deps, input.token, 'magic_link')
  const app = await App.findById(deps.db, found.app_id)
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
  found: SpendableToken
  app: App
  code: string | undefined
  tried: CredentialsTry
}

async function enter(deps: Deps<Pool>, entering: Entering, actor: Actor): Promise<TokenAnswer> {
  const { found, app, code, tried } = entering
  // Pools may have changed since the mail: whoever a login through the app would not find, does not come in by a link either.
  const before = await findUserInPools(deps, found.email, poolSet(app))
  if (before?.id !== found.user_id) throw invalidToken()
  // A code is spent by itself, before the transaction. An account that is about to be claimed is not asked for one.
  const isClaim = (await findClaimable(deps, before)) !== undefined
  const secondFactor = isClaim ? undefined : await passSecondFactor(deps, before, code, actor)
  const answer = await transaction(deps, async (deps) => {
    await lockUserRow(deps, found.user_id)
    const account = await findClaimable(deps, await getUser(deps, found.user_id))
    // Somebody proved or promoted the account since it was read, or took its role: nothing was spent yet, so look again.
    if (isClaim !== (account !== undefined)) return undefined
    const user = await spendMailToken(deps, found)
    const about = { actor, appId: app.id }
    if (account) return claimByMailbox(deps, { account, ...about }, (claimed) => logIn(deps, { app, tried, ...claimed }, actor))
    const verified = await verifyAddress(deps, user, about)
    return logIn(deps, { app, tried, user: verified, secondFactor: secondFactor! }, actor)
  })
  return answer ?? enter(deps, entering, actor)
}

async function logIn(
  deps: Deps<Tx>,
  { app, tried, user, secondFactor }: Pick<Entering, 'app' | 'tried'> & Pick<NewEntry, 'user' | 'secondFactor'>,
  actor: Actor,
): Promise<TokenAnswer> {
  const entry = { user, app, secondFactor, overrides: {}, authMethod: 'magic_link' }
  const tokens = await openSession(deps, entry, actor)
  await clearFailures(deps, tried.lockKey!, { unlessLocked: true })
  await giveBackAttempt(deps, tried.attempt)
  const details = { auth_method: entry.authMethod }
  await recordEvent(deps, { event: 'login.success', actor, userId: user.id, appId: app.id, details })
  return tokens
}
