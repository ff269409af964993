import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies, SetCookies } from '../../lib/cookies.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { html, type PageView } from '../../lib/html.ts'
import { newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import { MAX_PASSWORD_BYTES } from '../../lib/password-policy.ts'
import { isUuid } from '../../lib/uuid.ts'
import { nameOf, stepForm } from '../../pages/fields.ts'
import { keptIdleSeconds } from '../../resources/sessions/browser-sessions.ts'
import {
  type AuthorizationRequest,
  hashOfQuery,
  parametersIn,
  readAuthorizationRequest,
  type SentParameters,
} from './authorization-request.ts'
import { assertPagesOn, authorize, continueAs } from './authorize.ts'
import { type LogoutRequest, logOutBrowser, readLogout } from './logout.ts'
import type { StepForm } from './schema.ts'
import { type FirstFactorTicket, openField, requestLifeMs, type SaidRefusal, sealField } from './sealed-fields.ts'
import { askForAccess, type Journey, type SignInOutcome, signInByPassword, signInBySecondFactor, signOut } from './steps.ts'
import { faultView, startAgainView, stepView } from './views.ts'

/** What a page route answers: a page, or where the browser goes. */
export type PageAnswer = ({ location: string; view?: undefined } | { view: PageView; location?: undefined }) & {
  cookies?: SetCookies
  errorCode?: ErrorCode | undefined
}

const browserSeconds = 180 * 86_400
const deviceSeconds = 180 * 86_400
/** With what our own pages add, it still fits into a query. */
const mostQueryCharacters = 6_500
const path = '/oauth/authorize'

/** Answers an authorization request: shows the page of its next step, or leads the browser back to the app. */
export async function answerAuthorize(
  deps: Deps<Pool>,
  { resume: resumed, ...sent }: SentParameters & { resume?: string | string[] | undefined },
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const now = deps.clock()
  const resume = openField(deps, 'resume', cookies.browser, typeof resumed === 'string' ? resumed : undefined)
  const isAlive = resume !== undefined && now - resume.sealedAt <= requestLifeMs
  const read = await readAuthorizationRequest(deps, sent, isAlive ? resume.begunAt : now)
  if ('fault' in read) return { view: faultView(read) }
  if ('location' in read) return read
  // What another request has carried does not count for this one.
  const carriedOn = isAlive && resume.queryHash === hashOfQuery(read.request.query) ? resume : undefined
  const request = { ...read.request, begunAt: carriedOn?.begunAt ?? now }
  if (request.query.length > mostQueryCharacters) throw fieldError('query', 'too_long', 'is too long for this page')

  const decided = await authorize(deps, request, cookies.session, actor)
  if ('location' in decided) return { location: decided.location }
  const browser = cookies.browser ?? newOpaqueToken(TOKEN_PREFIXES.browser)
  const sealed = { query: request.query, begunAt: request.begunAt, sealedAt: now, userId: decided.person?.user.id }
  const carried = {
    request: sealField(deps, 'request', browser, sealed),
    ...(carriedOn && typeof resumed === 'string' ? { resume: resumed } : {}),
  }
  const view = { request, carried, said: carriedOn?.refusal, ticket: carriedOn?.ticket }
  const known = cookies.browser === undefined ? { cookies: { browser: { value: browser, seconds: browserSeconds } } } : {}
  return { view: stepView(decided.step, decided.person, view), ...known }
}

/** Takes a step of the page. Whatever comes of it, the browser goes on to the same request, or to the app. */
export async function answerStep(deps: Deps<Pool>, form: StepForm, cookies: Cookies, actor: Actor): Promise<PageAnswer> {
  assertPagesOn(deps)
  const now = deps.clock()
  const { browser } = cookies
  const carried = openField(deps, 'request', browser, form.request)
  if (browser === undefined || !carried) return { view: startAgainView(undefined) }
  if (now - carried.sealedAt > requestLifeMs) return { view: startAgainView(carried.query) }
  const read = await readAuthorizationRequest(deps, parametersIn(carried.query), carried.begunAt)
  if ('fault' in read) return { view: faultView(read) }
  if ('location' in read) return read
  const { request } = read
  const journey: Journey = { request, secret: cookies.session, device: cookies.device }
  const goOn = (said: { ticket?: FirstFactorTicket | undefined; refusal?: SaidRefusal } = {}) => ({
    location: locationOf(deps, request, browser, said),
  })
  const resume = openField(deps, 'resume', browser, form.resume)
  // What another request has carried does not count for this one.
  const ticket = resume?.queryHash === hashOfQuery(request.query) ? resume.ticket : undefined
  try {
    const outcome = await take(deps, form, { journey, userId: carried.userId, ticket }, actor)
    if (outcome === undefined) return goOn()
    if ('location' in outcome) return outcome
    if ('asked' in outcome) return goOn({ refusal: { code: 'access_requested', faults: {}, email: '' } })
    if ('signedOut' in outcome) return { ...goOn(), cookies: { session: null } }
    if ('ticket' in outcome) return goOn({ ticket: outcome.ticket })
    const { secret, isKept, deviceToken } = outcome.signedIn
    const session = { value: secret, seconds: isKept ? keptIdleSeconds : undefined }
    return { ...goOn(), cookies: { session, device: { value: deviceToken, seconds: deviceSeconds } } }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    const isOfCode = form.step === 'two_factor' && error.code !== 'invalid_token'
    return { ...goOn({ ticket: isOfCode ? ticket : undefined, refusal: refusalOf(error, form) }), errorCode: error.code }
  }
}

type Taken = SignInOutcome | { location: string } | { asked: true } | { signedOut: true } | undefined

/** Undefined leads on to the next step, which the request itself decides. */
async function take(
  deps: Deps<Pool>,
  form: StepForm,
  at: { journey: Journey; userId: string | undefined; ticket: FirstFactorTicket | undefined },
  actor: Actor,
): Promise<Taken> {
  const { journey, userId, ticket } = at
  switch (form.step) {
    case 'sign_in':
      return signInByPassword(deps, journey, credentialsIn(form), actor)
    case 'two_factor': {
      if (!ticket) throw new ApiError('invalid_token')
      const code = form.two_factor_code.trim()
      if (code === '') throw fieldError('two_factor_code', 'required', 'is required')
      return signInBySecondFactor(deps, journey, { ticket, code }, actor)
    }
    case 'continue': {
      if (userId === undefined) return undefined
      const organizationId = isUuid(form.organization_id) ? form.organization_id : undefined
      const location = await continueAs(deps, journey.request, { secret: journey.secret, userId, organizationId }, actor)
      return location === undefined ? undefined : { location }
    }
    case 'ask_for_access':
      if (userId === undefined) return undefined
      await askForAccess(deps, journey, userId, actor)
      return { asked: true }
    case 'another_account':
      await signOut(deps, journey, actor)
      return { signedOut: true }
    case 'restart':
      return undefined
  }
}

function credentialsIn({ email: typed, password, keep }: StepForm): { email: string; password: string; isKept: boolean } {
  const email = normalizeEmail(typed)
  if (email === undefined) throw fieldError('email', 'invalid_value', 'must be an e-mail address')
  if (password === '') throw fieldError('password', 'required', 'is required')
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    throw fieldError('password', 'too_long', `must have at most ${MAX_PASSWORD_BYTES} bytes`)
  return { email, password, isKept: keep === 'yes' }
}

function refusalOf({ code, errors, retryAfter }: ApiError, { email }: StepForm): SaidRefusal {
  const faults: Record<string, string> = {}
  for (const { path, message } of errors ?? []) faults[path] ??= message
  return { code, faults, ...(retryAfter === undefined ? {} : { retryAfter }), email: email.slice(0, 254) }
}

/** The same authorization request again, with what a form has brought about. */
function locationOf(
  deps: Deps,
  { query, begunAt }: AuthorizationRequest,
  browser: string,
  said: { ticket?: FirstFactorTicket | undefined; refusal?: SaidRefusal },
): string {
  const resume = { queryHash: hashOfQuery(query), begunAt, sealedAt: deps.clock(), ...said }
  return `${path}?${query}&resume=${encodeURIComponent(sealField(deps, 'resume', browser, resume))}`
}

/** Asks whether to sign out, or says that nobody is signed in. */
export async function askLogout(
  deps: Deps,
  { done, ...query }: LogoutRequest & { done?: string | undefined },
  cookies: Cookies,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  if (done === 'yes') return { view: signedOutView }
  const { app, location } = await readLogout(deps, query)
  const browser = cookies.browser ?? newOpaqueToken(TOKEN_PREFIXES.browser)
  const now = deps.clock()
  const members = Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const request = sealField(deps, 'logout', browser, { query: new URLSearchParams(members).toString(), sealedAt: now })
  const view: PageView = {
    status: 200,
    title: 'Sign out',
    place: app && nameOf(app),
    leadsTo: location,
    body: html`<p>Sign out in this browser, and in the apps that you entered from it?</p>
${stepForm({ action: '/oauth/logout', hidden: { request }, button: 'Sign out' })}`,
  }
  const known = cookies.browser === undefined ? { cookies: { browser: { value: browser, seconds: browserSeconds } } } : {}
  return { view, ...known }
}

export async function answerLogout(
  deps: Deps<Pool>,
  form: { request: string },
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const carried = openField(deps, 'logout', cookies.browser, form.request)
  if (!carried || deps.clock() - carried.sealedAt > requestLifeMs) return { view: startAgainView(undefined) }
  await logOutBrowser(deps, cookies.session, actor)
  const { location } = await readLogout(deps, Object.fromEntries(new URLSearchParams(carried.query)))
  return { location: location ?? '/oauth/logout?done=yes', cookies: { session: null } }
}

const signedOutView: PageView = {
  status: 200,
  title: 'You are signed out',
  body: html`<p>You are signed out in this browser, and in the apps that you entered from it.</p>`,
}
