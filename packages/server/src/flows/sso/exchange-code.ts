import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { assertAppActive } from '../../resources/apps/get-app.ts'
import { settleTry } from '../../resources/lockouts/settle-try.ts'
import { recordLoginFailure } from '../login/record-login-failure.ts'
import type { Exchange } from './exchange.ts'
import { findEntrant } from './find-entrant.ts'
import { getProviderOf } from './keep-provider.ts'
import { logInEntrant } from './log-in-entrant.ts'
import { registerEntrant } from './register-entrant.ts'
import type { ExchangeInput } from './schema.ts'
import { getAnsweredLogin, invalidCode } from './spend-code.ts'

/**
 * Ends a third-party login: a code for tokens (decisions 8). The provider's word stands for the password; everything else is as at a
 * login, limits, lockout, second factor and gate. Who is nobody's user yet is registered. A try that fails leaves the code as it was.
 * Throws `invalid_sso_code`, `sso_provider_disabled`, `app_inactive`, `link_required`, `sso_email_missing`, the policy's codes, and what a
 * login throws after the password.
 */
export async function exchangeCode(deps: Deps<Pool>, input: ExchangeInput, actor: Actor): Promise<TokenAnswer> {
  const { login, profile } = await getAnsweredLogin(deps, input.code, input.code_verifier)
  const app = await App.findById(deps.db, login.app_id)
  if (!app) throw invalidCode()
  const tried = { attempt: undefined, email: profile.email ?? '', app }
  const exchange: Exchange = { login, profile, app, pools: poolSet(app), twoFactorCode: input.two_factor_code, tried }
  try {
    assertAppActive(app)
    return await enter(deps, exchange, actor)
  } catch (thrown) {
    const error = await settleTry(deps, exchange.tried, thrown, actor)
    if (error instanceof ApiError) await recordLoginFailure(deps, error, exchange.tried, actor)
    throw error
  }
}

/** Either way ends undefined when, under its locks, it finds the other one called for. */
async function enter(deps: Deps<Pool>, exchange: Exchange, actor: Actor): Promise<TokenAnswer> {
  const entrant = await findEntrant(deps, exchange, await getProviderOf(deps, exchange))
  const tokens = entrant ? await logInEntrant(deps, exchange, entrant, actor) : await registerEntrant(deps, exchange, actor)
  return tokens ?? enter(deps, exchange, actor)
}
