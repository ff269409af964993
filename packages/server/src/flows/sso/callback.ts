import type { ProviderClaims } from '../../adapters/provider-clients.ts'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, RequestOrigin } from '../../lib/caller.ts'
import { normalizeDomain, normalizeEmail } from '../../lib/email.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { ProviderFault } from '../../lib/provider-fault.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import type { IdentityRecord, TokenAnswer } from '../../lib/records.ts'
import { App } from '../../models/app.ts'
import { SsoLogin, type SsoLoginRow } from '../../models/sso-login.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertAppActive, getApp } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertAuthenticated } from '../../resources/client-secrets/client-secrets.ts'
import {
  assertServesApp,
  callbackUrlOf,
  getEnabledProvider,
  providerClientOf,
} from '../../resources/sso-providers/sso-providers.ts'
import { recordingLoginFailure } from '../sign-in/attempt.ts'
import { enter, orEnrolment } from '../sign-in/enter.ts'
import {
  codeLifeMs,
  type Exchange,
  getAnsweredLogin,
  invalidCode,
  openFor,
  type PkceState,
  type SsoProfile,
  sealFor,
} from '../sign-in/provider-login.ts'
import { logInMatchedUser, matchUser, type ProviderLogin, registerNewUser } from '../sign-in/provider-user.ts'
import { linkIdentity } from './identity-link.ts'
import { assertRedirectUrl, type CallbackInput, type ExchangeInput } from './start.ts'

/**
 * The RFC 6749 error codes that a client may get, and their text. The provider's text is never used, since anybody could have
 * written it.
 */
const outcomes = {
  access_denied: 'The provider did not log the user in',
  temporarily_unavailable: 'The provider cannot be reached',
  server_error: 'The answer from the provider is not valid',
} as const
type Outcome = keyof typeof outcomes

/**
 * Handles the answer that a provider sends back with the browser. Returns where the browser goes: to the client, with a code for
 * the holder of the verifier, or with an error (RFC 6749, section 4.1.2.1). Only the first answer to a login is accepted, even
 * across several servers. It is spent before any network call. No user is searched for or created here. Throws `not_found`,
 * `sso_provider_disabled`, `invalid_sso_state`, `app_inactive`, `auth_method_not_allowed` if the provider is not for this app,
 * and `validation_failed` if the app no longer allows the redirect URL. There is no redirect before all of that is checked.
 */
export async function answerCallback(deps: Deps<Pool>, code: string, input: CallbackInput, actor: Actor): Promise<string> {
  const provider = await getEnabledProvider(deps, code)
  const { login, challenge } = await spendState(deps, provider, input.state)
  const app = await getApp(deps, login.app_id)
  assertAppActive(app)
  assertServesApp(provider, app)
  // Our own page is no redirect URL of an app. It takes the answer only in the browser that began.
  const isOfPage = login.browser_hash !== null
  if (!isOfPage) assertRedirectUrl(app, login.redirect_url)
  const back = (answer: Record<string, string>) => backTo(login, answer, isOfPage ? input.state : login.client_state)

  const callbackUrl = callbackUrlWith(deps, provider, input)
  const client = providerClientOf(deps, provider)
  const providerClients = await deps.providerClients()
  try {
    const claims = await providerClients.redeem(client, callbackUrl, { ...challenge, state: input.state })
    return back({ code: await issueCode(deps, login, profileOf(claims)) })
  } catch (fault) {
    if (!(fault instanceof ProviderFault)) throw fault
    const error = outcomeOf(fault)
    deps.logger.warn({ provider: code, error, reason: fault.message }, 'third-party login failed')
    const details = { provider: code, error }
    await recordEvent(deps, { event: 'login.failed', actor, reason: `provider_${fault.kind}`, appId: app.id, details })
    return back({ error, error_description: outcomes[error] })
  }
}

/** The state is bound to the provider: an answer that is brought to the callback of another provider finds nothing. */
async function spendState(
  deps: Deps<Pool>,
  provider: SsoProvider,
  state: string,
): Promise<{ login: SsoLoginRow; challenge: PkceState }> {
  const of = { state_hash: hashOpaqueToken(state), provider_id: provider.id, issuer: provider.issuer }
  const spent = await SsoLogin.answer(deps.db, of, deps.clock())
  if (!spent) throw new ApiError('invalid_sso_state', { detail: 'Start the login again' })
  const { challenge_box, ...login } = spent
  return { login, challenge: openFor(deps, login.state_hash, challenge_box) }
}

/** The callback URL, built from our own settings and the parameters that we read. */
function callbackUrlWith(deps: Deps, { code: provider }: SsoProvider, { state, code, error, iss }: CallbackInput): URL {
  const members = new URLSearchParams()
  for (const [name, value] of Object.entries({ state, code, error, iss })) if (value !== undefined) members.append(name, value)
  return new URL(`${callbackUrlOf(deps.config.publicUrl, provider)}?${members}`)
}

async function issueCode(deps: Deps<Pool>, { state_hash }: SsoLoginRow, profile: SsoProfile): Promise<string> {
  const code = newOpaqueToken(TOKEN_PREFIXES.ssoCode)
  await SsoLogin.query(deps.db)
    .findById(state_hash)
    .patch({
      challenge_box: null,
      code_hash: hashOpaqueToken(code),
      subject: profile.subject,
      claims_box: sealFor(deps, state_hash, profile),
      expires_at: deps.clock() + codeLifeMs,
    })
  return code
}

function profileOf({ subject, email, emailVerified, hostedDomain, givenName, familyName, authTime }: ProviderClaims): SsoProfile {
  return {
    subject,
    email: (email === undefined ? undefined : normalizeEmail(email)) ?? null,
    emailVerified,
    hostedDomain: (hostedDomain === undefined ? undefined : normalizeDomain(hostedDomain)) ?? null,
    firstName: nameOf(givenName),
    lastName: nameOf(familyName),
    signedInAt: authTime === undefined ? null : Math.floor(authTime) * 1000,
  }
}

/** Keeps a name that the service can store, and drops any other. */
function nameOf(name: string | undefined): string | null {
  return name !== undefined && name.length <= MAX_NAME && !/[\0\p{Cs}]/u.test(name) ? name : null
}

function outcomeOf({ kind, word }: ProviderFault): Outcome {
  if (kind === 'unreachable' || word === 'temporarily_unavailable') return 'temporarily_unavailable'
  return kind === 'denied' && word !== 'server_error' ? 'access_denied' : 'server_error'
}

/** The client's redirect URL, as it was given, with the answer in its query. */
function backTo({ redirect_url: url }: SsoLoginRow, answer: Record<string, string>, state: string): string {
  const ascii = /^[\x21-\x7e]*$/.test(url) ? url : new URL(url).href
  const query = new URLSearchParams({ ...answer, state })
  return `${ascii}${ascii.includes('?') ? '&' : '?'}${query}`
}

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
