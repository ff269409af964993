import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ShownCode } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken, randomText } from '../../lib/random.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import { takeByAddress } from '../../resources/rate-limits/rate-limits.ts'
import { findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { assertServesApp, getEnabledProvider } from '../../resources/sso-providers/sso-providers.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { refusalOf, type Typed } from '../sign-in/page-answer.ts'
import { firstFactor, firstFactorOf } from '../sign-in/prove.ts'
import { beginAtProvider, type Exchange, getAnsweredInBrowser } from '../sign-in/provider-login.ts'
import { logInMatchedUser, type MatchedUser, matchUser, type ProviderLogin, registerNewUser } from '../sign-in/provider-user.ts'
import { type FirstFactorTicket, type NamedByProvider, type SaidRefusal, sealField } from '../sign-in/sealed-fields.ts'
import type { SignedInBrowser } from '../sign-in/sign-in-browser.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { isGoodFor, type Journey, type SignInOutcome, signInHere, ticketOf } from './credential-steps.ts'

const returnPath = '/oauth/return'
/** The clock of a provider may be behind, and it writes whole seconds. */
const clockToleranceMs = 30_000

/**
 * Begins to sign in at a provider. Returns where the browser goes; only this browser can come back. Throws `not_found`,
 * `sso_provider_disabled`, `auth_method_not_allowed`, `rate_limited` and `unavailable`.
 */
export async function goToProvider(
  deps: Deps<Pool>,
  { request, browser }: Pick<Journey, 'request' | 'browser'>,
  { code, isKept }: { code: string; isKept: boolean },
  { origin }: Actor,
): Promise<string> {
  const { app, query, begunAt } = request
  const provider = await getEnabledProvider(deps, code)
  assertServesApp(provider, app)
  // Each call leaves a row for ten minutes.
  await takeByAddress(deps, 'sso-start', origin.ip)
  const requestField = sealField(deps, 'request', browser, { query, begunAt, sealedAt: deps.clock(), isKept })
  const page = { browserHash: hashOpaqueToken(browser), requestField }
  const demanded = demandedAgeSeconds(request)
  // Always with an age, since only then does a provider have to say when the person signed in there.
  const fresh = {
    prompt: demanded === undefined ? undefined : ('login' as const),
    maxAgeSeconds: demanded ?? deps.config.sessionMaxSeconds,
  }
  return beginAtProvider(
    deps,
    { provider, app, page, fresh },
    {
      redirect_url: `${deps.config.publicUrl}${returnPath}`,
      // The page finds its row by the state of the provider. Nobody has the verifier, so the API takes no code of a page.
      state: '',
      code_challenge: randomText(32),
    },
  )
}

/** Why somebody could not go to a provider. One that cannot be reached is said on the page, which has other ways. */
export function refusalAtProvider(error: unknown, typed: Typed = {}): SaidRefusal & { code: ShownCode } {
  const isDown = error instanceof ApiError && error.code === 'unavailable'
  return isDown ? { code: 'provider_temporarily_unavailable', faults: {}, ...typed } : refusalOf(error, typed)
}

/** How old a sign-in may be that the request or its app accepts, in seconds. Undefined if neither asks for a new one. */
function demandedAgeSeconds({ prompt, maxAgeSeconds, app }: AuthorizationRequest): number | undefined {
  if (prompt === 'login') return 0
  const { max_sign_in_age_seconds: ofApp } = app
  return maxAgeSeconds === undefined ? (ofApp ?? undefined) : Math.min(maxAgeSeconds, ofApp ?? maxAgeSeconds)
}

/**
 * When the first factor was shown at the provider. Undefined if that is not new enough for the request, also if the provider does
 * not say: a session of long ago may have answered. Without a demand such an answer counts as old as any.
 */
function provenAtProvider(deps: Deps, request: AuthorizationRequest, signedInAt: number | null): number | undefined {
  const now = deps.clock()
  const demanded = demandedAgeSeconds(request)
  if (demanded === undefined) return Math.min(now, signedInAt ?? now - deps.config.sessionMaxSeconds * 1000)
  const isNew = signedInAt !== null && signedInAt + clockToleranceMs >= request.begunAt
  if (isNew) return Math.min(now, Math.max(signedInAt, request.begunAt))
  return signedInAt !== null && now - signedInAt <= demanded * 1000 ? signedInAt : undefined
}

/** A sign-in that this service began on a page and that the provider has answered. */
export async function findPendingAtProvider(deps: Deps, state: string) {
  return SsoLogin.findOfPage(deps.db, hashOpaqueToken(state), deps.clock())
}

interface AnsweredSignIn {
  /** The code that stands for the provider's answer. */
  code: string
  isKept: boolean
  /** What the person has agreed to on a page: a new account, or to sign in, also in place of somebody else. */
  agreed?: 'create' | 'sign_in'
  /** With a ticket, the second factor. */
  second?: { ticket: FirstFactorTicket; code: string }
}

/**
 * Signs in with the answer of a provider. A failed attempt leaves it unspent, as does the first factor of a user who has a second
 * one: until that has passed nothing is linked, verified or taken over. Throws what an exchange of the API throws before the gate.
 */
export async function signInByProvider(
  deps: Deps<Pool>,
  journey: Journey,
  answered: AnsweredSignIn,
  actor: Actor,
): Promise<SignInOutcome | { named: NamedByProvider } | { refusal: SaidRefusal }> {
  const { app } = journey.request
  const { code, isKept, agreed } = answered
  const begun = { browserHash: hashOpaqueToken(journey.browser), appId: app.id }
  const exchange = { ...(await getAnsweredInBrowser(deps, code, begun)), app }
  const provenAt = provenAtProvider(deps, journey.request, exchange.profile.signedInAt ?? null)
  if (provenAt === undefined) return { refusal: { code: 'provider_login_too_old', faults: {}, isKept } }
  const matched = await matchUser(deps, exchange, actor)
  const before = await findBrowserSession(deps, journey.secret)
  const isOther = before !== undefined && before.user_id !== matched?.user.id
  // Who agreed to go on with an account that is gone by now has not agreed to a new one.
  if (matched ? isOther && !agreed : agreed !== 'create') {
    const email = matched?.user.email ?? exchange.profile.email
    if (email === null) throw new ApiError('sso_email_missing')
    return { named: { code, email, isNew: !matched, isKept } }
  }
  const finish: ProviderLogin<SignedInBrowser>['finish'] = (deps, shown) =>
    signInHere(deps, journey, { ...shown, before, isKept, provenAt, ticket: answered.second?.ticket }, actor)
  const outcome = matched
    ? await signInMatched(deps, exchange, { matched, answered, trust: journey.trust, finish }, actor)
    : await registerNewUser(
        deps,
        exchange,
        (deps, { proof, user }) => finish(deps, { proof, user, counted: undefined }),
        actor,
      ).then((signedIn) => signedIn && { signedIn })
  return outcome ?? signInByProvider(deps, journey, answered, actor)
}

async function signInMatched(
  deps: Deps<Pool>,
  exchange: Exchange,
  {
    matched,
    answered: { code, isKept, second },
    trust,
    finish,
  }: {
    matched: MatchedUser
    answered: AnsweredSignIn
    trust: Journey['trust']
    finish: ProviderLogin<SignedInBrowser>['finish']
  },
  actor: Actor,
): Promise<SignInOutcome | undefined> {
  const { user, provider } = matched
  if (second && !isGoodFor(deps, second.ticket, user)) throw new ApiError('invalid_token')
  const halfOf = (user: PooledUser) =>
    second ? firstFactorOf(second.ticket, user) : { ...firstFactor(deps, user, provider), trust }
  try {
    const signedIn = await logInMatchedUser(deps, exchange, matched, { twoFactorCode: second?.code, halfOf, finish }, actor)
    return signedIn && { signedIn }
  } catch (error) {
    if (second || !(error instanceof ApiError) || error.code !== 'two_factor_required') throw error
    return { ticket: { ...ticketOf(firstFactor(deps, user, provider), isKept), providerCode: code } }
  }
}
