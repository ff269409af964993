import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import type { IdentityRecord, TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { assertAppActive } from '../../resources/apps/get-app.ts'
import { recordingLoginFailure } from '../sign-in/attempt.ts'
import type { Exchange } from './exchange.ts'
import { findMatchedUser } from './find-matched-user.ts'
import { getProviderOf } from './keep-provider.ts'
import { linkIdentity } from './link-identity.ts'
import { logInMatchedUser } from './log-in-matched-user.ts'
import { registerNewUser } from './register-new-user.ts'
import type { ExchangeInput } from './schema.ts'
import { getAnsweredLogin, invalidCode } from './spend-code.ts'

/**
 * Exchanges the code of a login for tokens, or the code of a link for an identity of the user whose bearer is sent. In a login,
 * the provider's word replaces the password. Limits, lockout, second factor and gate are as at any login. A user without an
 * account in the app's pools is registered. A failed attempt leaves the code unspent. Throws `invalid_sso_code`,
 * `sso_provider_disabled`, `app_inactive`, `link_required`, `sso_email_missing`, the policy's codes, and what a login throws
 * after the password; for a link, what `linkIdentity` throws.
 */
export async function exchangeCode(
  deps: Deps<Pool>,
  input: ExchangeInput,
  { bearer, origin }: { bearer: string | undefined; origin: RequestOrigin },
): Promise<TokenAnswer | IdentityRecord> {
  const { login, profile } = await getAnsweredLogin(deps, input.code, input.code_verifier)
  const app = await App.findById(deps.db, login.app_id)
  if (!app) throw invalidCode()
  const exchange: Exchange = { login, profile, app, twoFactorCode: input.two_factor_code }
  if (login.session_id !== null) return linkIdentity(deps, exchange, { bearer, origin })
  return exchangeAnswer(deps, exchange, { caller: undefined, origin })
}

/** Login and registration return undefined if, under their locks, they find that the other one applies. Then this starts over. */
async function exchangeAnswer(deps: Deps<Pool>, exchange: Exchange, actor: Actor): Promise<TokenAnswer> {
  const { app, profile } = exchange
  const target = { email: profile.email ?? '', user: undefined, app }
  const matched = await recordingLoginFailure(deps, target, actor, async () => {
    assertAppActive(app)
    return findMatchedUser(deps, exchange, await getProviderOf(deps, exchange))
  })
  const tokens = matched ? await logInMatchedUser(deps, exchange, matched, actor) : await registerNewUser(deps, exchange, actor)
  return tokens ?? exchangeAnswer(deps, exchange, actor)
}
