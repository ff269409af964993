import type { ErrorCode } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import type { Membership } from '../../lib/records.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import {
  type AskedMail,
  type FirstFactorTicket,
  type NamedByProvider,
  type Resume,
  ticketLifeMs,
} from '../sign-in/sealed-fields.ts'
import type { AuthorizationRequest } from './authorization-request.ts'

/** Everything that decides what happens next with an authorization request. Times are in milliseconds. */
export interface Situation {
  now: number
  request: {
    prompt: 'none' | 'login' | 'create' | undefined
    maxAgeSeconds: number | undefined
    /** Whether two factors must have been shown. */
    demandsMfa: boolean
    begunAt: number
    hasInvite: boolean
    /** Whether the person who is signed in can still accept the invitation. */
    canJoin: boolean
    hasOrganization: boolean
    /** Set if the app expects another person than the one who is signed in, or a hint that does not tell whom. */
    hint?: 'another' | 'unknown' | undefined
    /** Whether the redirect URL leads to a site that nobody but its owner can answer for. */
    isRedirectOwned: boolean
  }
  app: {
    singleSignOn: boolean
    maxSignInAgeSeconds: number | null
    isAdminApp: boolean
  }
  /** Who is signed in at this service in this browser. */
  signedIn: SignedIn | undefined
}

export interface SignedIn {
  firstProvenAt: number
  /** When they last signed in in this browser. A provider may have proven them earlier. */
  signedInAt: number
  /** When they last signed in in this browser or entered an app. */
  lastSeenAt: number
  /** When the second factor or a passkey was shown; null if neither was, or if the factor was replaced since. */
  secondProvenAt: number | null
  hasSecondFactor: boolean
  /** Whether the browser stands for a second factor of an earlier day. Never where the request or the app demands a new one. */
  isTrusted: boolean
  /** Whether the user has a passkey that works here. */
  hasPasskey: boolean
  /** Whether the user is exactly the one whom this e-mail names in the pools of the app. */
  isNamedHere: boolean
  /** Whether the user already has an active row for the app, or enters without one by right. */
  hasEntered: boolean
  /** What the gate would say. */
  refusal: ErrorCode | undefined
  organizations: number
}

/** What is asked of a person who has said who they are. */
type PersonAsk = 'use_passkey' | 'enrol' | 'continue' | 'organization' | 'join'
export type Refusal = ErrorCode | 'unknown_here'

export type NextStep =
  | { ask: 'sign_in' }
  | { ask: 'create_account' }
  | { ask: PersonAsk }
  /** The person is known, and may not enter. */
  | { refuse: Refusal }
  | { enter: 'silently' }
  /** `prompt=none` shows nothing. */
  | { error: 'login_required' | 'interaction_required' }

const freshMs = 10 * 60_000

/** Decides what a person has still to do before they enter. It reads nothing and writes nothing. */
export function nextStep(situation: Situation): NextStep {
  const step = stepOf(situation)
  const { request, signedIn } = situation
  if (request.prompt !== 'none' || 'enter' in step || 'error' in step) return step
  // Somebody who is signed in, but whom the app does not know, looks like somebody who is not signed in.
  const mustSignIn = !signedIn?.hasEntered || ('ask' in step && step.ask === 'sign_in')
  return { error: mustSignIn ? 'login_required' : 'interaction_required' }
}

/**
 * In this order: who it is, how recently and with which factors they have signed in, whether the app knows them, the second factor
 * that it demands, an invitation, the gate, the second factor that the request demands, the organization, silent entry.
 */
function stepOf({ now, request, app, signedIn }: Situation): NextStep {
  if (!signedIn) return { ask: request.prompt === 'create' ? 'create_account' : 'sign_in' }
  const { firstProvenAt, lastSeenAt, secondProvenAt, hasSecondFactor } = signedIn
  // Of two factors that are demanded, the older proof counts.
  const provenAt = request.demandsMfa ? Math.min(firstProvenAt, secondProvenAt ?? firstProvenAt) : firstProvenAt
  const isNewerThan = (at: number, seconds: number) => at >= request.begunAt || now - at <= seconds * 1000
  const isNew = (at: number) => at >= request.begunAt
  if (request.hint !== undefined && !isNew(signedIn.signedInAt)) return { ask: 'sign_in' }
  if (request.hint === 'another') return { error: 'login_required' }
  if (request.prompt === 'login' && !isNew(provenAt)) return { ask: 'sign_in' }
  if (request.prompt === 'create' && !isNew(firstProvenAt) && !isNew(lastSeenAt)) return { ask: 'create_account' }
  if (hasSecondFactor && secondProvenAt === null && (!signedIn.isTrusted || request.demandsMfa)) return { ask: 'sign_in' }
  const oldest = Math.min(request.maxAgeSeconds ?? Number.POSITIVE_INFINITY, app.maxSignInAgeSeconds ?? Number.POSITIVE_INFINITY)
  if (!isNewerThan(provenAt, oldest)) return { ask: 'sign_in' }
  if (!signedIn.isNamedHere) return { refuse: 'unknown_here' }
  // Nothing is handed out before what the app demands was shown.
  const { refusal } = signedIn
  const isFresh = (at: number | null) => at !== null && now - at <= freshMs
  // Nobody else than the person may set it up, so they have just signed in.
  const toEnrol = { ask: isFresh(signedIn.signedInAt) ? ('enrol' as const) : ('sign_in' as const) }
  // Somebody who came from a provider and owns neither signs in there again.
  if (refusal === 'second_factor_not_shown') return { ask: !hasSecondFactor && signedIn.hasPasskey ? 'use_passkey' : 'sign_in' }
  if (refusal === 'two_factor_enrollment_required') return toEnrol
  // Before the gate: joining may be what opens it.
  if (request.canJoin) return { ask: 'join' }
  if (refusal !== undefined) return { refuse: refusal }
  if (request.demandsMfa && secondProvenAt === null) return signedIn.hasPasskey ? { ask: 'use_passkey' } : toEnrol
  if (!request.hasOrganization && signedIn.organizations > 1) return { ask: 'organization' }
  const isFreshEnough = !app.isAdminApp || (isFresh(firstProvenAt) && (!hasSecondFactor || isFresh(secondProvenAt)))
  const isSilent =
    app.singleSignOn &&
    request.isRedirectOwned &&
    // A person who has just signed in for this request was asked, as `login` and `create` demand.
    (request.prompt === undefined || request.prompt === 'none' || isNew(firstProvenAt)) &&
    !request.hasInvite &&
    signedIn.hasEntered &&
    isFreshEnough
  return isSilent ? { enter: 'silently' } : { ask: 'continue' }
}

/** Who is signed in in the browser. */
export interface Person {
  live: LiveBrowserSession
  user: PooledUser
  organizations: Membership[]
}

/** A provider has named somebody, who has to agree. */
type AgreePage = { show: 'agree'; named: NamedByProvider }

/** A page for somebody who has still to say who they are. The person is the one who is signed in until then. */
export type WhoPage = { asksWho: true; person: Person | undefined } & (
  | { show: 'credentials' | 'new_account' }
  | { show: 'second_factor'; ticket: FirstFactorTicket }
  | { show: 'ask_mail'; instead: 'forgot' | 'magic_link' }
  | { show: 'mail_code'; mail: AskedMail }
  | AgreePage
)

/** A page for a person who is signed in. */
export type PersonPage = { asksWho: false; person: Person } & (
  | { show: PersonAsk }
  | { show: 'recovery_codes'; codes: readonly string[] }
  | { show: 'refused'; why: Refusal }
  /** A refusal that a verified address ends. `mail` is the one whose code the page asks for, if it was asked for. */
  | { show: 'unverified'; why: Refusal; mail: AskedMail | undefined }
  | AgreePage
)

/** Where the browser goes at once, but only once: somebody who comes back may choose another way. */
export type WayOff = { go: 'ask_mail' } | { go: 'provider'; code: string; otherwise: WhoPage | { go: 'ask_mail' } }

export type NextPage =
  | WhoPage
  | PersonPage
  | WayOff
  | Extract<NextStep, { error: string }>
  | { enter: 'silently'; person: Person }

/** What chooses among the pages of a step. It never changes what a person has to show. */
interface Choice {
  /** What the redirect after the last step of this request has carried. Undefined before the first one. */
  resume: Resume | undefined
  asked: Pick<AuthorizationRequest, 'provider' | 'method'>
}

/** Decides which page comes next, or where the browser goes. Nobody enters while somebody else is half way through signing in. */
export function nextPage(situation: Situation, person: Person | undefined, { resume, asked }: Choice): NextPage {
  // Recovery codes stand before the next step, which may lead to the app at once. Their button leads on to that step.
  if (person && resume?.codes?.userId === person.user.id && situation.now - resume.sealedAt <= ticketLifeMs)
    return { show: 'recovery_codes', codes: resume.codes.codes, person, asksWho: false }
  const isOfAnother = person !== undefined && resume !== undefined && isHalfWay(resume, person.user)
  const step: NextStep = isOfAnother ? { ask: 'sign_in' } : nextStep(situation)
  if ('error' in step) return step
  if (!person || ('ask' in step && (step.ask === 'sign_in' || step.ask === 'create_account'))) {
    const isNew = 'ask' in step && step.ask === 'create_account'
    // The page does not begin with the address of somebody whom the app does not expect.
    const isUnexpected = situation.request.hint !== undefined && !isNew && !isOfAnother
    const page = whoPage(isUnexpected ? undefined : person, isNew, resume)
    return resume ? page : wayAsked(asked, page, isNew)
  }
  if ('enter' in step) return { ...step, person }
  return personPage(person, step, resume)
}

/** Whether it is another user who has shown the first factor, or was named by a provider. */
function isHalfWay({ ticket, named }: Resume, user: PooledUser): boolean {
  return (ticket !== undefined && ticket.userId !== user.id) || (named !== undefined && named.email !== user.email)
}

function whoPage(person: Person | undefined, isNew: boolean, resume: Resume | undefined): WhoPage {
  const { named, ticket, mail, instead } = resume ?? {}
  const who = { asksWho: true, person } as const
  if (named) return { ...who, show: 'agree', named }
  if (ticket) return { ...who, show: 'second_factor', ticket }
  if (mail && mail.purpose !== 'verify_email') return { ...who, show: 'mail_code', mail }
  if (instead === 'forgot' || instead === 'magic_link') return { ...who, show: 'ask_mail', instead }
  return { ...who, show: instead === 'create' || (isNew && instead === undefined) ? 'new_account' : 'credentials' }
}

/** The way of signing in that the app asks for, before the first step of a person. */
function wayAsked({ provider, method }: Choice['asked'], page: WhoPage, isNew: boolean): WayOff | WhoPage {
  const isByMail = !isNew && (method === 'email_code' || method === 'magic_link')
  const otherwise = isByMail ? ({ go: 'ask_mail' } as const) : page
  return provider === undefined ? otherwise : { go: 'provider', code: provider, otherwise }
}

function personPage(person: Person, step: { ask: PersonAsk } | { refuse: Refusal }, resume: Resume | undefined): PersonPage {
  const { named, mail } = resume ?? {}
  const known = { asksWho: false, person } as const
  if (named) return { ...known, show: 'agree', named }
  if ('ask' in step) return { ...known, show: step.ask }
  const { refuse: why } = step
  const { user } = person
  // An admin decides by the address, so the person has to verify it before they can ask.
  const isUnverified = why === 'email_unverified' || (why === 'app_access_denied' && !hasProvenAddress(user))
  if (!isUnverified) return { ...known, show: 'refused', why }
  const isAsked = mail?.purpose === 'verify_email' && mail.email === user.email
  return { ...known, show: 'unverified', why, mail: isAsked ? mail : undefined }
}

const loopback = /^(127(\.\d+){3}|\[::1\])$/

/**
 * Whether only its owner can receive what is sent to a redirect URL. Any program on the machine can listen on a loopback address,
 * and any app on a phone can register a private scheme, so both need a person who agrees.
 */
export function isOwnedRedirect(redirectUri: string, { production }: { production: boolean }): boolean {
  const { protocol, hostname } = new URL(redirectUri)
  if (loopback.test(hostname)) return false
  return protocol === 'https:' || (protocol === 'http:' && !production)
}
