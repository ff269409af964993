import type { Counted } from '../../adapters/metrics.ts'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import { placeOf } from '../../pages/place.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { getApp } from '../../resources/apps/apps.ts'
import { linkPaths } from '../../resources/mail/mail-tokens.ts'
import { findTrust } from '../../resources/trusted-browsers/trusted-browsers.ts'
import { getUser } from '../../resources/users/users.ts'
import {
  assertPagesOn,
  cookiesOf,
  deviceCookie,
  elsewhereView,
  type PageAnswer,
  refusalOf,
  startAgainView,
  type Typed,
  toldView,
} from '../sign-in/page-answer.ts'
import { openField, type Resume, requestLifeMs, type StepResult } from '../sign-in/sealed-fields.ts'
import { type AuthorizationRequest, readAuthorizationRequest, resumeLocation } from './authorization-request.ts'
import type { Journey } from './credential-steps.ts'
import { devicePath, withDevice } from './device-grant.ts'
import { getMailOfPage } from './mail-steps.ts'
import { findPendingAtProvider, refusalAtProvider, signInByProvider } from './provider-steps.ts'
import { readerOf, startAgain, viewOfFault } from './request-pages.ts'
import { authorizePath, hashOfQuery, parametersIn } from './request-parameters.ts'
import type { ReturnQuery, StepForm } from './schema.ts'
import { takesTrust } from './situation.ts'
import { choosesProvider, isKeptIn, type Outcome, takeStep } from './take-step.ts'

/**
 * Takes the browser that a provider has sent back, through the callback of the API, which reads no cookie. Only the browser that
 * began goes on.
 */
export async function answerReturn(
  deps: Deps<Pool>,
  { state, code, error }: ReturnQuery,
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const { browser } = cookies
  const pending = await findPendingAtProvider(deps, state)
  if (!pending) return { view: startAgainView(textsFor(readerOf({}, actor)), undefined) }
  const openedRequest = openField(deps, 'request', browser, pending.request_field ?? undefined)
  if (browser === undefined || hashOpaqueToken(browser) !== pending.browser_hash || !openedRequest) {
    const place = placeOf(deps.config, await getApp(deps, pending.app_id))
    return { view: elsewhereView(textsFor({ ...readerOf({}, actor), place }), place) }
  }
  const sent = parametersIn(openedRequest.query)
  const read = await readAuthorizationRequest(deps, sent, openedRequest.begunAt)
  if ('fault' in read) return { view: viewOfFault(deps, read, sent, actor) }
  if ('location' in read) return read
  const { request } = read
  const journey = await journeyOf(deps, request, { ...cookies, browser }, '')
  const { isKept = false } = openedRequest
  if (code === '') return goOn(deps, journey, { refusal: { code: `provider_${error}`, faults: {}, isKept } })
  try {
    const outcome = await signInByProvider(deps, journey, { code, isKept }, asAsked(actor, request))
    return { ...goOn(deps, journey, outcome), ...countedAs('sso', outcome) }
  } catch (error) {
    const refusal = refusalOf(error, { isKept })
    return { ...goOn(deps, journey, { refusal }), errorCode: refusal.code, counted: 'sso' }
  }
}

/** Opens the link of a mail that was asked for on the page. Only the browser that asked goes on to the app. */
export async function answerMailLink(
  deps: Deps,
  token: string,
  { browser }: Cookies,
  actor: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const found = await getMailOfPage(deps, token)
  const { purpose } = found
  const isHere = browser !== undefined && found.browser_hash === hashOpaqueToken(browser)
  const openedRequest = isHere ? openField(deps, 'request', browser, found.request_field ?? undefined) : undefined
  if (browser === undefined || !openedRequest) {
    if (purpose === 'magic_link') {
      const place = placeOf(deps.config, await getApp(deps, found.app_id))
      const { locale } = await getUser(deps, found.user_id)
      const texts = textsFor({ ...readerOf({}, actor), locale, place })
      // It ends here: nobody asked for it in this browser.
      return { view: { ...toldView(texts, texts.codeElsewhere), place } }
    }
    return { location: `${linkPaths[purpose]}?token=${encodeURIComponent(token)}` }
  }
  const mail = { purpose, email: found.email, codeKey: '', token }
  return { location: resumeLocation(deps, openedRequest, browser, { mail }) }
}

/** Takes a step of the page. Whatever comes of it, the browser goes on to the same request, or to the app. */
export async function answerStep(deps: Deps<Pool>, form: StepForm, cookies: Cookies, actor: Actor): Promise<PageAnswer> {
  assertPagesOn(deps)
  const now = deps.clock()
  const { browser } = cookies
  const openedRequest = openField(deps, 'request', browser, form.request)
  if (browser === undefined || !openedRequest) {
    const query = new URLSearchParams(form.query).toString()
    // Of two tabs that begin at the same moment in a new browser, one has the cookie of the other. It begins again.
    const mustStart = browser === undefined || query === ''
    return mustStart ? { view: await startAgain(deps, { query }, actor) } : { location: `${authorizePath}?${query}` }
  }
  if (now - openedRequest.sealedAt > requestLifeMs) return { view: await startAgain(deps, openedRequest, actor) }
  const sent = parametersIn(openedRequest.query)
  const read = await readAuthorizationRequest(deps, sent, openedRequest.begunAt)
  if ('fault' in read) return { view: viewOfFault(deps, read, sent, actor) }
  if ('location' in read) return read
  const request = await withDevice(deps, read.request, browser)
  if (!request) return { location: devicePath(read.request.app.code, 'over') }
  const journey = await journeyOf(deps, request, { ...cookies, browser }, form.trust)
  const opened = openField(deps, 'resume', browser, form.resume)
  // What another request has carried does not count for this one.
  const resume = opened?.queryHash === hashOfQuery(request.query) ? opened : undefined
  const counted = methodOf(form, resume)
  try {
    const outcome = await takeStep(deps, form, { journey, userId: openedRequest.userId, resume }, asAsked(actor, request))
    if (outcome && 'location' in outcome) return outcome
    return { ...goOn(deps, journey, outcome), ...countedAs(counted, outcome) }
  } catch (error) {
    const refusal = choosesProvider(form) ? refusalAtProvider(error, typedIn(form)) : refusalOf(error, typedIn(form))
    const again = isOver.has(refusal.code) ? {} : whatStays(form, resume)
    return { ...goOn(deps, journey, { ...again, refusal }), errorCode: refusal.code, counted }
  }
}

/** What a form tries, if metrics count it. */
function methodOf(form: StepForm, resume: Resume | undefined): Counted | undefined {
  if (choosesProvider(form)) return undefined
  if (form.passkey !== '') return 'passkey'
  switch (form.step) {
    case 'sign_in':
      return form.instead ? undefined : 'password'
    case 'register':
      return 'registration'
    case 'two_factor':
      if (resume?.ticket?.providerCode !== undefined) return 'sso'
      return resume?.ticket?.mailTokenHash === undefined ? 'password' : 'magic_link'
    case 'agree':
      return 'sso'
    case 'mail_code':
      if (resume?.mail?.purpose !== 'magic_link') return undefined
      return resume.mail.token === undefined ? 'email_code' : 'magic_link'
    default:
      return undefined
  }
}

/** Counts a sign-in that is complete, or waits for the second factor, as the API does. */
function countedAs(counted: Counted | undefined, outcome: Outcome): Pick<PageAnswer, 'counted' | 'errorCode'> {
  if (outcome && 'ticket' in outcome && outcome.ticket) return { counted, errorCode: 'two_factor_required' }
  return counted === 'registration' || (outcome && 'signedIn' in outcome) ? { counted } : {}
}

async function journeyOf(
  deps: Deps,
  request: AuthorizationRequest,
  { browser, session: secret, device, trust }: Cookies & { browser: string },
  trusts: string,
): Promise<Journey> {
  const mayTrust = takesTrust(deps, request)
  return {
    ...{ request, browser, secret, device },
    trust: mayTrust ? await findTrust(deps, trust, request.app) : undefined,
    trusting: mayTrust && trusts === 'yes' ? { before: trust } : undefined,
  }
}

/** The person, with the languages that the app asks for before those of the browser. */
function asAsked(actor: Actor, { uiLocales = '' }: AuthorizationRequest): Actor {
  const { origin } = actor
  return { ...actor, origin: { ...origin, languages: `${uiLocales} ${origin.languages ?? ''}` } }
}

/** After these the person has to begin again. */
const isOver: ReadonlySet<string> = new Set(['invalid_token', 'invalid_sso_code'])

/** What a form that is shown again still knows. */
function whatStays({ step }: StepForm, resume: Resume | undefined): StepResult {
  if (step === 'two_factor') return { ticket: resume?.ticket }
  if (step === 'enrol') return { seed: resume?.seed }
  if (step === 'register') return { instead: 'create' }
  if (step === 'sign_in') return { instead: resume?.instead === 'sign_in' ? 'sign_in' : undefined }
  return step === 'ask_mail' || step === 'mail_code' ? { mail: resume?.mail, instead: resume?.instead } : {}
}

/** Leads the browser on to the same authorization request, with the cookies and what else came of a step. */
function goOn(deps: Deps, { request, browser }: Journey, outcome: Outcome): PageAnswer & { location: string } {
  if (outcome && 'signedIn' in outcome) {
    const { trust } = outcome.signedIn
    return {
      location: resumeLocation(deps, request, browser, { mail: outcome.mail }),
      cookies: { ...cookiesOf(outcome.signedIn), ...(trust && { trust }) },
    }
  }
  if (outcome && 'signedOut' in outcome)
    return { location: resumeLocation(deps, request, browser, {}), cookies: { session: null } }
  const { deviceToken, ...result }: StepResult & { deviceToken?: string } = outcome ?? {}
  const cookies = deviceToken === undefined ? {} : { cookies: { device: deviceCookie(deviceToken) } }
  return { location: resumeLocation(deps, request, browser, result), ...cookies }
}

/** What a form is shown again with, so that nobody has to type it twice. It travels in a URL, so what is too long is left out. */
function typedIn(form: StepForm): Typed {
  const short = (text: string, most: number) => (text === '' || text.length > most ? undefined : text)
  const names = { firstName: short(form.first_name, 64), lastName: short(form.last_name, 64) }
  return { email: short(form.email, 254), ...names, isKept: isKeptIn(form) }
}
