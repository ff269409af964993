import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { IdentityRecord, TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { assertAppActive } from '../../resources/apps/get-app.ts'
import { recordingLoginFailure } from '../entry/record-login-failure.ts'
import type { Exchange } from './exchange.ts'
import { findMatchedUser } from './find-matched-user.ts'
import { getProviderOf } from './keep-provider.ts'
import { linkIdentity } from './link-identity.ts'
import { logInMatchedUser } from './log-in-matched-user.ts'
import { registerNewUser } from './register-new-user.ts'
import type { ExchangeInput } from './schema.ts'
import { getAnsweredLogin, invalidCode } from './spend-code.ts'

/**
 * Ends what was begun at a provider. A login: a code for tokens. A link: a code for an identity of the user whose bearer comes along. The provider's word stands for the password; everything else is as at a
 * login, limits, lockout, second factor and gate. Who is nobody's user yet is registered. A try that fails leaves the code as it was.
 * Throws `invalid_sso_code`, `sso_provider_disabled`, `app_inactive`, `link_required`, `sso_email_missing`, the policy's codes, and what a
 * login throws after the password; of a link what `linkIdentity` throws.
 */
export async function exchangeCode(
  deps: Deps<Pool>,
  input: ExchangeInput,
  { bearer, origin }: { bearer: string | undefined; origin: RequestOrigin },
): Promise<TokenAnswer | IdentityRecord> {
  const { login, profile } = await getAnsweredLogin(deps, input.code, input.code_verifier)
  const app = await App.findById(deps.db, login.app_id)
  if (!app) throw invalidCode()
  const exchange: Exchange = { login, profile, app, pools: poolSet(app), twoFactorCode: input.two_factor_code }
  if (login.session_id !== null) return linkIdentity(deps, exchange, { bearer, origin })
  return exchangeAnswer(deps, exchange, { caller: undefined, origin })
}

/** Either way ends undefined when, under its locks, it finds the other one called for. */
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
