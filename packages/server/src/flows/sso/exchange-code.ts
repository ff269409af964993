import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, OwnCaller, RequestOrigin } from '../../lib/caller.ts'
import type { IdentityRecord, TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import type { UserIdentity } from '../../models/user-identity.ts'
import { assertMethodAllowed } from '../../resources/apps/check-policy.ts'
import { assertAppActive } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertAuthenticated } from '../../resources/client-secrets/authenticate-client.ts'
import { addIdentity } from '../../resources/identities/identities.ts'
import { presentIdentity } from '../../resources/identities/present.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { lockOwner } from '../../resources/sessions/read-self.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { recording, recordingLoginFailure } from '../sign-in/attempt.ts'
import { enter, orEnrolment } from '../sign-in/enter.ts'
import { matchUser } from '../sign-in/find-matched-user.ts'
import { logInMatchedUser, type ProviderLogin } from '../sign-in/log-in-matched-user.ts'
import {
  type Exchange,
  getAnsweredLogin,
  invalidCode,
  keepProviderOf,
  lockSubject,
  spendCode,
} from '../sign-in/provider-answer.ts'
import { registerNewUser } from '../sign-in/register-new-user.ts'
import type { ExchangeInput } from './schema.ts'

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
      // Nor does a confidential app get a user by this door who would have to wait for access.
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

/**
 * Finishes a link that a logged-in user began: exchanges a code for the identity. Requires the bearer of the same session, so
 * that a user cannot be tricked into linking an attacker's account. The address at the provider is ignored, and is not verified
 * by this. Throws the `token_*` errors, `invalid_sso_code` for any other session, `sso_provider_disabled`, `app_inactive`,
 * `auth_method_not_allowed` and `identity_in_use`. A failed attempt leaves the code unspent.
 */
export async function linkIdentity(
  deps: Deps<Pool>,
  exchange: Exchange,
  { bearer, origin }: { bearer: string | undefined; origin: RequestOrigin },
): Promise<IdentityRecord> {
  if (bearer === undefined) throw new ApiError('token_missing')
  const caller = await authenticateCaller(deps, bearer)
  if (caller.kind !== 'user') throw new ApiError('token_invalid', { detail: 'An access token of a user is required' })
  return presentIdentity(await completeLink(deps, exchange, { caller, origin }))
}

/** The same for whom the session of a call or of a browser stands. */
export async function completeLink(
  deps: Deps<Pool>,
  exchange: Exchange,
  actor: Actor & { caller: OwnCaller },
): Promise<UserIdentity> {
  const { caller } = actor
  const about = { actor, userId: caller.userId, appId: exchange.app.id }
  return recording(
    ({ code: reason }) => recordEvent(deps, { event: 'identity.link_failed', ...about, reason }),
    async () => {
      if ((caller.sessionId ?? caller.browserSessionId) !== exchange.login.session_id) throw invalidCode()
      assertAppActive(exchange.app)
      return transaction(deps, (deps) => link(deps, exchange, caller, actor))
    },
  )
}

async function link(deps: Deps<Tx>, exchange: Exchange, caller: OwnCaller, actor: Actor): Promise<UserIdentity> {
  const { app, login, profile } = exchange
  const provider = await keepProviderOf(deps, exchange)
  assertMethodAllowed(app, provider.code)
  await lockSubject(deps, exchange)
  await lockOwner(deps, caller)
  const user = await getUser(deps, caller.userId)
  await spendCode(deps, login)
  const subject = { providerId: provider.id, subject: profile.subject }
  return addIdentity(deps, subject, { user, appId: app.id, provider: provider.code }, actor)
}
