import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import type { PageView } from '../../lib/html.ts'
import { nameOf } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { findOpenInvitation } from '../../resources/invitations/invitations.ts'
import { findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { listProvidersOf } from '../../resources/sso-providers/sso-providers.ts'
import { assertPagesOn, markBrowser, type PageAnswer } from '../sign-in/page-answer.ts'
import { askForPasskey } from '../sign-in/passkey.ts'
import { openField, type Resume, requestLifeMs, sealField } from '../sign-in/sealed-fields.ts'
import { findPendingSeed } from '../two-factor/two-factor.ts'
import { readAuthorizationRequest, resumeLocation } from './authorization-request.ts'
import { authorize } from './authorize.ts'
import { devicePath, withDevice } from './device-grant.ts'
import type { PersonPage, WhoPage } from './next-step.ts'
import {
  codesView,
  continueView,
  enrolView,
  joinView,
  organizationView,
  passkeyView,
  refusedView,
  unverifiedView,
} from './person-views.ts'
import { goToProvider, refusalAtProvider } from './provider-steps.ts'
import { readerOf, viewOfFault } from './request-pages.ts'
import { hashOfQuery, type SentParameters } from './request-parameters.ts'
import { takesTrust } from './situation.ts'
import type { Part, Shown } from './view-parts.ts'
import { agreeView, askMailView, createView, mailView, secondFactorView, signInView } from './who-views.ts'

/** With what our own pages add, it still fits into a query. */
const mostQueryCharacters = 6_500

/** Answers an authorization request: shows the page of its next step, or leads the browser back to the app. */
export async function answerAuthorize(
  deps: Deps<Pool>,
  { resume: given, ...sent }: SentParameters & { resume?: string | string[] | undefined },
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const now = deps.clock()
  const resumeField = typeof given === 'string' ? given : undefined
  const opened = openField(deps, 'resume', cookies.browser, resumeField)
  const isAlive = opened !== undefined && now - opened.sealedAt <= requestLifeMs
  const live = await findBrowserSession(deps, cookies.session)
  const read = await readAuthorizationRequest(deps, sent, isAlive ? opened.begunAt : now, live?.catalog_generation)
  if ('fault' in read) return { view: viewOfFault(deps, read, sent, actor) }
  if ('location' in read) return read
  // What another request has carried does not count for this one.
  const resume = isAlive && opened.queryHash === hashOfQuery(read.request.query) ? opened : undefined
  const request = await withDevice(deps, { ...read.request, begunAt: resume?.begunAt ?? now }, cookies.browser)
  if (!request) return { location: devicePath(read.request.app.code, 'over') }
  if (request.query.length > mostQueryCharacters) throw fieldError('query', 'too_long', 'is too long for this page')

  let next = await authorize(deps, request, { live, resume }, actor)
  if ('location' in next) return next
  const { browser, marked } = markBrowser(cookies)
  let said = resume?.refusal
  if ('go' in next && next.go === 'provider') {
    const chosen = { code: next.code, isKept: false }
    try {
      return { location: await goToProvider(deps, { request, browser }, chosen, actor), ...marked }
    } catch (error) {
      said = refusalAtProvider(error)
      next = next.otherwise
    }
  }
  if ('go' in next) return { location: resumeLocation(deps, request, browser, { instead: 'magic_link' }), ...marked }
  return { view: await viewOf(deps, next, { request, resume, resumeField, browser, said }, actor), ...marked }
}

interface Met extends Pick<Shown, 'request' | 'said'> {
  browser: string
  /** What the last step has carried, as it was sent and opened. */
  resumeField: string | undefined
  resume: Resume | undefined
}

/** The page, with all that it shows. */
async function viewOf(
  deps: Deps,
  page: WhoPage | PersonPage,
  { request, resume, resumeField, browser, said }: Met,
  actor: Actor,
): Promise<PageView> {
  const { app } = request
  const { person } = page
  const place = placeOf(deps.config, app)
  const texts = textsFor({ ...readerOf(request, actor), locale: person?.user.locale, place })
  const sealed = { query: request.query, begunAt: request.begunAt, sealedAt: deps.clock(), userId: person?.user.id }
  const invitation = request.invite === undefined ? undefined : await findOpenInvitation(deps, request.invite)
  const { production, smtpUrl, mailDir } = deps.config
  const view: Shown = {
    ...{ texts, request, place, said, typed: resume?.typed },
    hiddenFields: {
      query: request.query,
      request: sealField(deps, 'request', browser, sealed),
      // Recovery codes are not shown twice.
      ...(resume && resumeField !== undefined && page.show !== 'recovery_codes' ? { resume: resumeField } : {}),
    },
    passkey: page.show === 'credentials' || page.show === 'use_passkey' ? await askForPasskey(deps, browser) : undefined,
    providers: page.asksWho ? await listProvidersOf(deps, app) : [],
    inviting: invitation && nameOf({ name: invitation.organization.name, code: invitation.organization.slug }),
    mailFolder: production || smtpUrl !== undefined ? undefined : mailDir,
    trustDays: takesTrust(deps, request) ? app.trust_device_days : 0,
    pending: page.show === 'enrol' ? await findPendingSeed(deps, page.person.user, resume?.seed) : undefined,
  }
  const leadsTo = [request.redirectUri, ...view.providers.map(({ issuer }) => issuer)]
  return { status: 200, language: texts.language, place, leadsTo, ...partOf(page, view) }
}

/** What a page shows, apart from what all pages have. */
function partOf(page: WhoPage | PersonPage, view: Shown): Part {
  switch (page.show) {
    case 'credentials':
      return signInView(page.person, view)
    case 'new_account':
      return createView(view)
    case 'second_factor':
      return secondFactorView(page.ticket, view)
    case 'ask_mail':
      return askMailView(page.instead, view)
    case 'mail_code':
      return mailView(page.mail, view)
    case 'agree':
      return agreeView(page.named, page.person, view)
    case 'use_passkey':
      return passkeyView(page.person, view)
    case 'enrol':
      return enrolView(page.person, view)
    case 'recovery_codes':
      return codesView(page.codes, view)
    case 'organization':
      return organizationView(page.person, view)
    case 'join':
      return joinView(page.person, view)
    case 'continue':
      return continueView(page.person, view)
    case 'refused':
      return refusedView(page.why, page.person, view)
    case 'unverified':
      return unverifiedView(page, view)
  }
}
