import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import type { IdentityRecord, TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { assertAuthenticated } from '../../resources/client-secrets/client-secrets.ts'
import { recordingLoginFailure } from '../sign-in/attempt.ts'
import { enter, orEnrolment } from '../sign-in/enter.ts'
import { type Exchange, getAnsweredLogin, invalidCode } from '../sign-in/provider-login.ts'
import { logInMatchedUser, matchUser, type ProviderLogin, registerNewUser } from '../sign-in/provider-user.ts'
import { linkIdentity } from './identity-link.ts'
import type { ExchangeInput } from './start.ts'

/**
 * Exchanges the code of a login for tokens, or the code of a link for an identity of the user whose bearer is sent. In a login,
 * the provider's word replaces the password. Limits, lockout, second factor and gate are as at any login. A user without an
 * account in the app's pools is registered. A failed attempt leaves the code unspent. Throws `invalid_sso_code`,
 * `sso_provider_disabled`, `app_inactive`, `link_required`, `sso_email_missing`, the policy's codes, and what a login throws
 * after the password; for a link, what `linkIdentity` throws.
 */
export async function exchangeProviderCode(
  deps: Deps<Pool>,
  input: ExchangeInput,
  { bearer, origin }: { bearer: string | undefined; origin: RequestOrigin },
): Promise<TokenAnswer | IdentityRecord> {
  const { login, profile } = await getAnsweredLogin(deps, input.code, input.code_verifier)
  const app = await App.find(deps.db, { id: login.app_id })
  if (!app) throw invalidCode()
  const exchange: Exchange = { login, profile, app }
  if (login.session_id !== null) return linkIdentity(deps, exchange, { bearer, origin })
  return exchangeAnswer(deps, exchange, input.two_factor_code, { caller: undefined, origin })
}

/** Login and registration return undefined if, under their locks, they find that the other one applies. Then this starts over. */
async function exchangeAnswer(
  deps: Deps<Pool>,
  exchange: Exchange,
  twoFactorCode: string | undefined,
  actor: Actor,
): Promise<TokenAnswer> {
  const { app } = exchange
  const matched = await matchUser(deps, exchange, actor)
  const finish: ProviderLogin<TokenAnswer>['finish'] = (deps, shown) =>
    enter(deps, { app, client: undefined, overrides: {}, ...shown }, actor)
  const tokens = matched
    ? await logInMatchedUser(deps, exchange, matched, { twoFactorCode, finish }, actor)
    : await registerAndEnter(deps, exchange, actor)
  return tokens ?? exchangeAnswer(deps, exchange, twoFactorCode, actor)
}

/**
 * If the app does not grant on sign-up, the user exists afterwards, but the answer is `app_access_denied` until an admin adds a
 * grant. If the app asks for a verified address and the provider is not trusted for it, the answer is `email_unverified`, and if it
 * demands a second factor, `two_factor_enrollment_required`.
 */
async function registerAndEnter(deps: Deps<Pool>, exchange: Exchange, actor: Actor): Promise<TokenAnswer | undefined> {
  const { app, profile } = exchange
  const registered = await registerNewUser(
    deps,
    exchange,
    async (deps, { user, access, entry }) => {
      // A confidential app gets no user here, not even one who would have to wait for access.
      assertAuthenticated(app, undefined)
      const request = entry && { ...entry, client: undefined, counted: undefined }
      return { user, access, entered: request && (await orEnrolment(enter(deps, request, actor))) }
    },
    actor,
  )
  if (!registered) return undefined
  const { entered } = registered
  if (entered && 'tokens' in entered) return entered.tokens
  return recordingLoginFailure(deps, { email: profile.email ?? '', app, user: registered.user }, actor, async () => {
    if (entered) throw entered.refusal
    if (registered.access === 'unverified') throw new ApiError('email_unverified')
    throw new ApiError('app_access_denied', { detail: 'The user is registered but has no active grant for this app' })
  })
}
