import type { Counted } from '../../adapters/metrics.ts'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies, SetCookies } from '../../lib/cookies.ts'
import { html, type PagePlace, type PageView } from '../../lib/html.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import type { App } from '../../models/app.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { nameOf, toDeveloper, wayOn } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import { faultsIn } from '../../pages/texts/faults.ts'
import type { PageTexts, Told } from '../../pages/texts/page-texts.ts'
import { type Reader, textsFor } from '../../pages/texts/texts-for.ts'
import { getApp } from '../../resources/apps/apps.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { findOpenInvitation } from '../../resources/invitations/invitations.ts'
import { linkPaths } from '../../resources/mail/mail-tokens.ts'
import { type BrowserSecrets, findBrowserSession, keptIdleSeconds } from '../../resources/sessions/browser-sessions.ts'
import { listProvidersOf } from '../../resources/sso-providers/sso-providers.ts'
import { findTrust } from '../../resources/trusted-browsers/trusted-browsers.ts'
import { userOf } from '../../resources/users/present.ts'
import { getUser } from '../../resources/users/users.ts'
import { askForPasskey } from '../sign-in/passkey.ts'
import {
  type AskedMail,
  openField,
  type Resume,
  requestLifeMs,
  type SaidRefusal,
  sealField,
  ticketLifeMs,
} from '../sign-in/sealed-fields.ts'
import { findPendingSeed } from '../two-factor/two-factor.ts'
import {
  type AuthorizationRequest,
  hashOfQuery,
  parametersIn,
  type ReadRequest,
  type RequestFault,
  readAuthorizationRequest,
  type SentParameters,
} from './authorization-request.ts'
import { assertPagesOn, authorize, takesTrust } from './authorize.ts'
import { devicePath, withDevice } from './device-grant.ts'
import { getMailOfPage } from './mail-steps.ts'
import { findPendingAtProvider, goToProvider, signInByProvider } from './provider-steps.ts'
import type { ReturnQuery, StepForm } from './schema.ts'
import type { Journey } from './steps.ts'
import { type Carried, choosesProvider, isKeptIn, type Outcome, takeStep } from './take-step.ts'
import { codesView, stepView } from './views.ts'

/** For a request whose app or redirect URL is not good: the browser is sent nowhere. */
function faultView(
  texts: PageTexts,
  fault: RequestFault,
  { place, hint }: { place: PagePlace | undefined; hint: string | undefined },
): PageView {
  const { unknownApp, inactiveApp, title, goBack, ...redirects } = texts.requestFaults
  const told = {
    unknown_app: unknownApp,
    inactive_app: inactiveApp,
    redirect_missing: { title, text: redirects.redirectMissing },
    redirect_unknown: { title, text: redirects.redirectUnknown },
    redirect_prefixes_only: { title, text: redirects.redirectPrefixesOnly },
  }[fault]
  return {
    status: fault === 'inactive_app' ? 403 : 400,
    language: texts.language,
    title: told.title,
    place,
    body: html`<p>${told.text}</p>\n${toDeveloper(hint)}<p>${goBack}</p>\n${wayOn(texts, place)}`,
  }
}

/** For a sign-in link that is opened where nobody asked for it. */
function codeElsewhereView(texts: PageTexts, place: PagePlace): PageView {
  return { ...toldView(texts, texts.codeElsewhere), place }
}

/** For a browser that did not begin what it brings to an end. */
export function elsewhereView(texts: PageTexts, place: PagePlace): PageView {
  return toldView(texts, texts.elsewhere, 400, place)
}

/** A page that ends somewhere, with a way on to the app that it is about. */
export function toldView(texts: PageTexts, { title, text }: Told, status = 200, place?: PagePlace): PageView {
  return { status, language: texts.language, title, place, body: html`<p>${text}</p>\n${wayOn(texts, place)}` }
}

/** For a form that was open for too long, or that this browser did not get. `url` is where it can be had again. */
export function startAgainView(texts: PageTexts, url: string | undefined, place?: PagePlace): PageView {
  const { title, text, startAgain, goBack } = texts.tooOld
  const start = url === undefined ? undefined : html`<p><a class="button" href="${url}">${startAgain}</a></p>`
  return {
    status: 400,
    language: texts.language,
    title,
    place,
    body: html`<p>${text}</p>
${start ?? html`<p>${goBack}</p>\n${wayOn(texts, place)}`}`,
  }
}

/** What a page route answers: a page, or where the browser goes. */
export type PageAnswer = ({ location: string; view?: undefined } | { view: PageView; location?: undefined }) & {
  cookies?: SetCookies
  errorCode?: ErrorCode | undefined
  counted?: Counted | undefined
}

export const browserSeconds = 180 * 86_400
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
  const live = await findBrowserSession(deps, cookies.session)
  const read = await readAuthorizationRequest(deps, sent, isAlive ? resume.begunAt : now, live?.catalog_generation)
  if ('fault' in read) return { view: viewOfFault(deps, read, sent, actor) }
  if ('location' in read) return read
  // What another request has carried does not count for this one.
  const carriedOn = isAlive && resume.queryHash === hashOfQuery(read.request.query) ? resume : undefined
  const request = await withDevice(deps, { ...read.request, begunAt: carriedOn?.begunAt ?? now }, cookies.browser)
  if (!request) return { location: devicePath(read.request.app.code, 'over') }
  if (request.query.length > mostQueryCharacters) throw fieldError('query', 'too_long', 'is too long for this page')

  if (live && carriedOn?.codes?.userId === live.user_id && now - carriedOn.sealedAt <= ticketLifeMs)
    return { view: await viewOfCodes(deps, { request, live, browser: cookies.browser, codes: carriedOn.codes.codes }, actor) }
  const decided = await authorize(deps, request, { live, halfWay: carriedOn }, actor)
  if ('location' in decided) return { location: decided.location }
  const browser = cookies.browser ?? newOpaqueToken(TOKEN_PREFIXES.browser)
  const known = cookies.browser === undefined ? { cookies: { browser: { value: browser, seconds: browserSeconds } } } : {}
  const { step, person } = decided
  const place = placeOf(deps.config, request.app)
  const texts = textsFor({ ...readerOf(request, actor), locale: person?.user.locale, place })
  const asksWho = 'ask' in step && (step.ask === 'sign_in' || step.ask === 'create_account')
  let said = carriedOn?.refusal
  // At once, but only once: somebody who comes back may choose another way.
  if (asksWho && request.provider !== undefined && !carriedOn)
    try {
      return {
        location: await goToProvider(deps, { request, browser }, { code: request.provider, isKept: false }, actor),
        ...known,
      }
    } catch (error) {
      said = refusalAtProvider(error)
    }
  const isByMail = request.method === 'email_code' || request.method === 'magic_link'
  if ('ask' in step && step.ask === 'sign_in' && isByMail && !carriedOn)
    return { location: locationOf(deps, request, browser, { instead: 'magic_link' }), ...known }
  const sealed = { query: request.query, begunAt: request.begunAt, sealedAt: now, userId: person?.user.id }
  const carried = {
    query: request.query,
    request: sealField(deps, 'request', browser, sealed),
    ...(carriedOn && typeof resumed === 'string' ? { resume: resumed } : {}),
  }
  const passkey = asksWho || ('ask' in step && step.ask === 'use_passkey') ? await askForPasskey(deps, browser) : undefined
  const providers = asksWho ? await listProvidersOf(deps, request.app) : []
  const invitation = request.invite === undefined ? undefined : await findOpenInvitation(deps, request.invite)
  const inviting = invitation && nameOf({ name: invitation.organization.name, code: invitation.organization.slug })
  const { production, smtpUrl, mailDir } = deps.config
  const mailFolder = production || smtpUrl !== undefined ? undefined : mailDir
  const trustDays = takesTrust(deps, request) ? request.app.trust_device_days : 0
  const pending =
    person && 'ask' in step && step.ask === 'enrol' ? await findPendingSeed(deps, person.user, carriedOn?.seed) : undefined
  const seen = { ...carriedOn, pending, texts, request, place, carried, said, providers, inviting, passkey }
  const view = { ...seen, mailFolder, trustDays }
  return { view: stepView(step, person, view), ...known }
}

/** Recovery codes stand before the next step, which may lead to the app at once. Its button leads on to that step. */
async function viewOfCodes(
  deps: Deps,
  shown: { request: AuthorizationRequest; live: LiveBrowserSession; browser: string | undefined; codes: readonly string[] },
  actor: Actor,
): Promise<PageView> {
  const { request, live, browser = '', codes } = shown
  const place = placeOf(deps.config, request.app)
  const texts = textsFor({ ...readerOf(request, actor), locale: userOf(live).locale, place })
  const sealed = { query: request.query, begunAt: request.begunAt, sealedAt: deps.clock(), userId: live.user_id }
  const carried = { query: request.query, request: sealField(deps, 'request', browser, sealed) }
  return codesView({ texts, place, carried, codes })
}

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
  const carried = openField(deps, 'request', browser, pending.request_field ?? undefined)
  if (browser === undefined || hashOpaqueToken(browser) !== pending.browser_hash || !carried) {
    const place = placeOf(deps.config, await getApp(deps, pending.app_id))
    return { view: elsewhereView(textsFor({ ...readerOf({}, actor), place }), place) }
  }
  const sent = parametersIn(carried.query)
  const read = await readAuthorizationRequest(deps, sent, carried.begunAt)
  if ('fault' in read) return { view: viewOfFault(deps, read, sent, actor) }
  if ('location' in read) return read
  const { request } = read
  const journey = await journeyOf(deps, request, { ...cookies, browser }, '')
  const { isKept = false } = carried
  if (code === '') return goOn(deps, journey, { refusal: { code: `provider_${error}`, faults: {}, isKept } })
  try {
    const outcome = await signInByProvider(deps, journey, { code, isKept }, asAsked(actor, request))
    return { ...goOn(deps, journey, outcome), ...countedAs('sso', outcome) }
  } catch (error) {
    const refusal = refusalOf(error, { isKept })
    return { ...goOn(deps, journey, { refusal }), errorCode: refusal.code as ErrorCode, counted: 'sso' }
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
  const purpose = found.purpose as AskedMail['purpose']
  const isHere = browser !== undefined && found.browser_hash === hashOpaqueToken(browser)
  const carried = isHere ? openField(deps, 'request', browser, found.request_field ?? undefined) : undefined
  if (browser === undefined || !carried) {
    if (purpose === 'magic_link') {
      const place = placeOf(deps.config, await getApp(deps, found.app_id))
      const { locale } = await getUser(deps, found.user_id)
      return { view: codeElsewhereView(textsFor({ ...readerOf({}, actor), locale, place }), place) }
    }
    return { location: `${linkPaths[purpose]}?token=${encodeURIComponent(token)}` }
  }
  const mail = { purpose, email: found.email, codeKey: '', token }
  return { location: locationOf(deps, carried, browser, { mail }) }
}

/** Takes a step of the page. Whatever comes of it, the browser goes on to the same request, or to the app. */
export async function answerStep(deps: Deps<Pool>, form: StepForm, cookies: Cookies, actor: Actor): Promise<PageAnswer> {
  assertPagesOn(deps)
  const now = deps.clock()
  const { browser } = cookies
  const carried = openField(deps, 'request', browser, form.request)
  if (browser === undefined || !carried) {
    const query = new URLSearchParams(form.query).toString()
    // Of two tabs that begin at the same moment in a new browser, one has the cookie of the other. It begins again.
    const mustStart = browser === undefined || query === ''
    return mustStart ? { view: await startAgain(deps, { query }, actor) } : { location: `${path}?${query}` }
  }
  if (now - carried.sealedAt > requestLifeMs) return { view: await startAgain(deps, carried, actor) }
  const sent = parametersIn(carried.query)
  const read = await readAuthorizationRequest(deps, sent, carried.begunAt)
  if ('fault' in read) return { view: viewOfFault(deps, read, sent, actor) }
  if ('location' in read) return read
  const request = await withDevice(deps, read.request, browser)
  if (!request) return { location: devicePath(read.request.app.code, 'over') }
  const journey = await journeyOf(deps, request, { ...cookies, browser }, form.trust)
  const resume = openField(deps, 'resume', browser, form.resume)
  // What another request has carried does not count for this one.
  const shown = resume?.queryHash === hashOfQuery(request.query) ? resume : undefined
  const counted = methodOf(form, shown)
  try {
    const outcome = await takeStep(deps, form, { journey, userId: carried.userId, shown }, asAsked(actor, request))
    if (outcome && 'location' in outcome) return outcome
    return { ...goOn(deps, journey, outcome), ...countedAs(counted, outcome) }
  } catch (error) {
    const refusal = choosesProvider(form) ? refusalAtProvider(error, typedIn(form)) : refusalOf(error, typedIn(form))
    const again = isOver.has(refusal.code) ? {} : whatStays(form, shown)
    return { ...goOn(deps, journey, { ...again, refusal }), errorCode: refusal.code as ErrorCode, counted }
  }
}

/** What a form tries, if metrics count it. */
function methodOf(form: StepForm, shown: Resume | undefined): Counted | undefined {
  if (choosesProvider(form)) return undefined
  if (form.passkey !== '') return 'passkey'
  switch (form.step) {
    case 'sign_in':
      return form.instead ? undefined : 'password'
    case 'register':
      return 'registration'
    case 'two_factor':
      if (shown?.ticket?.providerCode !== undefined) return 'sso'
      return shown?.ticket?.mailTokenHash === undefined ? 'password' : 'magic_link'
    case 'agree':
      return 'sso'
    case 'mail_code':
      if (shown?.mail?.purpose !== 'magic_link') return undefined
      return shown.mail.token === undefined ? 'email_code' : 'magic_link'
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

/** The app that the request of a form names, which anybody can have written. */
export async function findPlaceOfForm(deps: Deps, { query }: { query: string }): Promise<PagePlace | undefined> {
  const { client_id: code } = parametersIn(query)
  const app = typeof code === 'string' ? await (await readCatalog(deps)).findApp({ code }) : undefined
  return app && placeOf(deps.config, app)
}

/** For a form that can no longer be taken, with the app that its request names, and the page that had it. */
export async function startAgain(
  deps: Deps,
  { path = '/oauth/authorize', query }: { path?: string; query: string },
  actor: Pick<Actor, 'origin'>,
): Promise<PageView> {
  const { ui_locales: uiLocales } = parametersIn(query)
  const place = await findPlaceOfForm(deps, { query })
  return startAgainView(textsFor({ ...readerOf({ uiLocales }, actor), place }), query ? `${path}?${query}` : undefined, place)
}

/** What is known about the reader of a page before it is known who they are. */
function readerOf(
  { uiLocales }: { uiLocales?: string | string[] | undefined },
  { origin }: Pick<Actor, 'origin'>,
): Pick<Reader, 'uiLocales' | 'accepts'> {
  return { uiLocales: typeof uiLocales === 'string' ? uiLocales : undefined, accepts: origin.languages }
}

function viewOfFault(
  { config }: Deps,
  { fault, app }: Extract<ReadRequest, { fault: unknown }>,
  { ui_locales: uiLocales, redirect_uri: redirectUrl }: SentParameters,
  actor: Pick<Actor, 'origin'>,
): PageView {
  const place = app && placeOf(config, app)
  const isTold = !config.production && app && typeof redirectUrl === 'string' && redirectUrl !== ''
  const hint = isTold && fault.startsWith('redirect_') ? redirectHint(app, redirectUrl.slice(0, 500)) : undefined
  return faultView(textsFor({ ...readerOf({ uiLocales }, actor), place }), fault, { place, hint })
}

/** Names the URL that came with the request, and the command that adds it. */
function redirectHint({ code, allowed_redirect_urls: urls }: App, url: string): string {
  const isPlain = /^https?:\/\/[\w.:/~-]+$/.test(url)
  const command = `authctl app update ${code} --redirect ${[...urls, url].map((one) => `'${one.replaceAll("'", "'\\''")}'`).join(' ')}`
  return `the app has sent ${url}.${isPlain ? ` This adds it: ${command}` : ''}`
}

/** After these the person has to begin again. */
const isOver: ReadonlySet<string> = new Set(['invalid_token', 'invalid_sso_code'])

/** What a form that is shown again still knows. */
function whatStays({ step }: StepForm, shown: Resume | undefined): Carried {
  if (step === 'two_factor') return { ticket: shown?.ticket }
  if (step === 'enrol') return { seed: shown?.seed }
  if (step === 'register') return { instead: 'create' }
  if (step === 'sign_in') return { instead: shown?.instead === 'sign_in' ? 'sign_in' : undefined }
  return step === 'ask_mail' || step === 'mail_code' ? { mail: shown?.mail, instead: shown?.instead } : {}
}

/** Leads the browser on to the same authorization request, with the cookies and what else came of a step. */
function goOn(deps: Deps, { request, browser }: Journey, outcome: Outcome): PageAnswer & { location: string } {
  if (outcome && 'signedIn' in outcome) {
    const { trust } = outcome.signedIn
    return {
      location: locationOf(deps, request, browser, { mail: outcome.mail }),
      cookies: { ...cookiesOf(outcome.signedIn), ...(trust && { trust }) },
    }
  }
  if (outcome && 'signedOut' in outcome) return { location: locationOf(deps, request, browser, {}), cookies: { session: null } }
  const { deviceToken, ...carried }: Carried = outcome ?? {}
  const cookies = deviceToken === undefined ? {} : { cookies: { device: deviceCookie(deviceToken) } }
  return { location: locationOf(deps, request, browser, carried), ...cookies }
}

/** The cookies of somebody who has just shown who they are. */
export function cookiesOf({ secret, isKept, deviceToken }: BrowserSecrets): SetCookies {
  const session = { value: secret, seconds: isKept ? keptIdleSeconds : undefined }
  return { session, device: deviceCookie(deviceToken) }
}

export function deviceCookie(value: string) {
  return { value, seconds: deviceSeconds }
}

type Typed = Pick<SaidRefusal, 'email' | 'firstName' | 'lastName' | 'isKept'>

/** What a form is shown again with, so that nobody has to type it twice. It travels in a URL, so what is too long is left out. */
function typedIn(form: StepForm): Typed {
  const short = (text: string, most: number) => (text === '' || text.length > most ? undefined : text)
  const names = { firstName: short(form.first_name, 64), lastName: short(form.last_name, 64) }
  return { email: short(form.email, 254), ...names, isKept: isKeptIn(form) }
}

/** What a form is shown again with. Rethrows all errors that are not the person's. */
export function refusalOf(error: unknown, typed: Typed = {}): SaidRefusal {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  const { code, errors, retryAfter } = error
  return { code, faults: faultsIn(errors), ...(retryAfter === undefined ? {} : { retryAfter }), ...typed }
}

/** Why somebody could not go to a provider. One that cannot be reached is said on the page, which has other ways. */
function refusalAtProvider(error: unknown, typed: Typed = {}): SaidRefusal {
  const isDown = error instanceof ApiError && error.code === 'unavailable'
  return isDown ? { code: 'provider_temporarily_unavailable', faults: {}, ...typed } : refusalOf(error, typed)
}

/** The same authorization request again, with what a form has brought about. */
function locationOf(
  deps: Deps,
  { query, begunAt }: Pick<AuthorizationRequest, 'query' | 'begunAt'>,
  browser: string,
  said: Carried,
): string {
  const resume = { queryHash: hashOfQuery(query), begunAt, sealedAt: deps.clock(), ...said }
  return `${path}?${query}&resume=${encodeURIComponent(sealField(deps, 'resume', browser, resume))}`
}
