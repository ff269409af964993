import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { MAX_PASSWORD_BYTES } from '../../lib/password.ts'
import { isUuid } from '../../lib/uuid.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { acceptInvitation } from '../../resources/invitations/invitations.ts'
import { callerOfBrowser, newDeviceTokenFor } from '../../resources/sessions/browser-sessions.ts'
import { getUser, lockUserRow } from '../../resources/users/users.ts'
import { register } from '../registration/register.ts'
import { newCodeKey } from '../sign-in/email-code.ts'
import type { AskedMail, Resume } from '../sign-in/sealed-fields.ts'
import { activateTwoFactor, digestOfSeed, setUpTwoFactor } from '../two-factor/two-factor.ts'
import { continueAs, foreseeStep } from './authorize.ts'
import { denyDevice, devicePath } from './device-grant.ts'
import { askForMail, emailOfPerson, pageOfMail, resetByMail, signInByMail, verifyByMail } from './mail-steps.ts'
import { goToProvider, signInByProvider } from './provider-steps.ts'
import type { StepForm } from './schema.ts'
import {
  askForAccess,
  type Journey,
  type SignInOutcome,
  signInByPasskey,
  signInByPassword,
  signInBySecondFactor,
  signOut,
} from './steps.ts'

const unproven = { password: undefined, two_factor_code: undefined }

/** The person whom the page asks to set up a second factor. Undefined if it does not, or asks somebody else by now. */
async function findAsked(
  deps: Deps,
  { request, secret }: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<PersonCaller | undefined> {
  const { person, step } = await foreseeStep(deps, request, secret, actor)
  const isAsked = 'ask' in step && step.ask === 'enrol'
  return person && person.user.id === userId && isAsked ? callerOf(deps, person.live) : undefined
}

/**
 * Somebody who has nothing but a first factor has just shown it, which counts from when they came from there: not every provider tells
 * when they signed in at it.
 */
function callerOf(deps: Deps, live: LiveBrowserSession): PersonCaller {
  return callerOfBrowser(deps, { ...live, first_proven_at: live.signed_in_at ?? live.first_proven_at })
}

/** Gives the person a seed, which the page then shows. Throws what `setUpTwoFactor` throws. */
async function beginEnrolment(
  deps: Deps<Pool>,
  journey: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<{ seed: string } | undefined> {
  const caller = await findAsked(deps, journey, userId, actor)
  if (!caller) return undefined
  const { secret } = await setUpTwoFactor(deps, unproven, caller, { ...actor, caller })
  return { seed: digestOfSeed(secret) }
}

/**
 * Turns the second factor on. The person has shown it by that, and goes on to the app once they have seen their recovery codes. Throws
 * what `activateTwoFactor` throws.
 */
export async function enrol(
  deps: Deps<Pool>,
  journey: Journey,
  { userId, code: typed }: { userId: string | undefined; code: string },
  actor: Actor,
): Promise<{ codes: { userId: string; codes: string[] }; deviceToken: string } | undefined> {
  const code = typed.trim()
  if (code === '') throw fieldError('code', 'required', 'is required')
  const caller = await findAsked(deps, journey, userId, actor)
  if (!caller) return undefined
  const by = { ...actor, caller }
  const { app } = journey.request
  const { recovery_codes: codes } = await activateTwoFactor(deps, { ...unproven, code, demandedBy: app.id }, caller, by)
  return { codes: { userId: caller.userId, codes }, deviceToken: await newDeviceTokenFor(deps, caller.userId) }
}

/** What the form for a new account asks for. */
interface NewAccountFields {
  email: string
  password: string
  first_name?: string
  last_name?: string
}

/**
 * Creates an account by the same rules as `POST /auth/register`, and signs in with it. Where the app asks for a verified address,
 * the page goes on with the code of the mail. Throws what a registration throws.
 */
async function createAccountOnPage(
  deps: Deps<Pool>,
  journey: Journey,
  { isKept, ...fields }: NewAccountFields & { isKept: boolean },
  actor: Actor,
): Promise<SignInOutcome & { mail?: AskedMail }> {
  const { app, invite } = journey.request
  const { email, password } = fields
  const unused = {
    ...{ first_name: undefined, last_name: undefined, invite_token: undefined, invite_code: undefined },
    ...{ organization_name: undefined, two_factor_code: undefined, device_token: undefined },
    ...{ role_code: undefined, linked_app_codes: undefined },
  }
  // This mode opens no session of the app. That the address is taken is told as `register` tells it.
  const input = { ...unused, ...fields, app_code: app.code, invite_token: invite, mode: 'register_or_return' as const }
  const mail: AskedMail = { purpose: 'verify_email', email, codeKey: newCodeKey() }
  const page = app.require_verified_email ? pageOfMail(deps, journey, mail) : undefined
  // Webhooks get what the person has typed, and nothing of the request of the app.
  const { created } = await register(deps, input, () => ({ ...fields }), actor, { page })
  if (!created) throw new ApiError('user_exists')
  const outcome = await signInByPassword(deps, journey, { email, password, isKept }, actor)
  return page ? { ...outcome, mail } : outcome
}

/** Joins the organization of the invitation, as the person to whom the page offers that. Throws `invalid_invitation`. */
async function joinByInvitation(
  deps: Deps<Pool>,
  { request, secret }: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<void> {
  const { invite } = request
  const { person, step } = await foreseeStep(deps, request, secret, actor)
  const isOffered = 'ask' in step && step.ask === 'join'
  if (invite === undefined || !person || person.user.id !== userId || !isOffered) return
  await transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    const user = await getUser(deps, userId)
    // The sessions of the user were ended meanwhile. A membership would stay.
    if (user.status !== 'active' || user.min_token_version > person.live.version) throw new ApiError('invalid_invitation')
    await acceptInvitation(deps, invite, user, actor)
  })
}

/** What the redirect after a step carries. */
export type Carried = Partial<Pick<Resume, 'ticket' | 'named' | 'mail' | 'instead' | 'typed' | 'refusal' | 'seed' | 'codes'>> & {
  deviceToken?: string
}

/** What a step has brought about. Undefined leads on to the next one, which the request itself decides. */
export type Outcome = (SignInOutcome & { mail?: AskedMail }) | Carried | { signedOut: true } | undefined

/** Does what a form of the page asks for. */
export async function takeStep(
  deps: Deps<Pool>,
  form: StepForm,
  at: { journey: Journey; userId: string | undefined; shown: Resume | undefined },
  actor: Actor,
): Promise<Outcome | { location: string }> {
  const { journey, userId, shown } = at
  if (choosesProvider(form))
    return { location: await goToProvider(deps, journey, { code: form.provider, isKept: isKeptIn(form) }, actor) }
  if (form.passkey !== '')
    return signInByPasskey(deps, journey, { sent: form.passkey, field: form.passkey_challenge, isKept: isKeptIn(form) }, actor)
  switch (form.step) {
    case 'sign_in':
      // It travels in a URL, so what cannot be an address is left out.
      if (form.instead) return { instead: form.instead, typed: normalizeEmail(form.email) }
      return signInByPassword(deps, journey, credentialsIn(form), actor)
    case 'two_factor': {
      if (!shown?.ticket) throw new ApiError('invalid_token')
      const { ticket } = shown
      const code = form.two_factor_code.trim()
      if (code === '') throw fieldError('two_factor_code', 'required', 'is required')
      const { providerCode, mailTokenHash } = ticket
      if (providerCode !== undefined)
        return signInByProvider(
          deps,
          journey,
          { code: providerCode, isKept: ticket.isKept, agreed: 'sign_in', second: { ticket, code } },
          actor,
        )
      if (mailTokenHash !== undefined) return signInByMail(deps, journey, { ticket, twoFactorCode: code }, actor)
      return signInBySecondFactor(deps, journey, { ticket, code }, actor)
    }
    case 'forgot':
    case 'magic_link':
    case 'create':
      return { instead: form.step }
    case 'sign_in_instead':
      return { instead: 'sign_in' }
    case 'register':
      return createAccountOnPage(deps, journey, { ...newAccountIn(form), isKept: isKeptIn(form) }, actor)
    case 'join': {
      await joinByInvitation(deps, journey, userId, actor)
      return continueOn(deps, journey, { userId, form }, actor)
    }
    case 'ask_mail': {
      const purpose = form.purpose ?? 'magic_link'
      const email = purpose === 'verify_email' ? await emailOfPerson(deps, journey, userId) : emailIn(form)
      return email === undefined ? undefined : askForMail(deps, journey, { purpose, email }, shown?.mail, actor)
    }
    case 'mail_code':
      return (
        shown?.mail &&
        takeMail(deps, journey, { mail: shown.mail, code: form.code, password: form.password, isKept: isKeptIn(form) }, actor)
      )
    case 'agree': {
      if (!shown?.named) return undefined
      const { code, isNew, isKept } = shown.named
      return signInByProvider(deps, journey, { code, isKept, agreed: isNew ? 'create' : 'sign_in' }, actor)
    }
    case 'set_up':
      return beginEnrolment(deps, journey, userId, actor)
    case 'enrol':
      return enrol(deps, journey, { userId, code: form.code }, actor)
    case 'deny':
      await denyDevice(deps, journey.request, userId, actor)
      return { location: devicePath(journey.request.app.code, 'denied') }
    case 'continue':
      return continueOn(deps, journey, { userId, form }, actor)
    case 'ask_for_access':
      if (!(await askForAccess(deps, journey, userId, actor))) return undefined
      return { refusal: { code: 'access_requested', faults: {} } }
    case 'another_account':
      await signOut(deps, journey, actor)
      return { signedOut: true }
    // Without the answer of a device there is nothing to do.
    case 'use_passkey':
    case 'restart':
      return undefined
  }
}

async function continueOn(
  deps: Deps<Pool>,
  { request, secret }: Journey,
  { userId, form }: { userId: string | undefined; form: StepForm },
  actor: Actor,
): Promise<{ location: string } | undefined> {
  if (userId === undefined) return undefined
  const organizationId = isUuid(form.organization_id) ? form.organization_id : undefined
  const location = await continueAs(deps, request, { secret, userId, organizationId }, actor)
  return location === undefined ? undefined : { location }
}

function newAccountIn(form: StepForm): NewAccountFields {
  const email = emailIn(form)
  const { password } = form
  assertPassword(password)
  const names = (['first_name', 'last_name'] as const).flatMap((name) => {
    const value = form[name].trim()
    if (value.length > MAX_NAME) throw fieldError(name, 'too_long', `must have at most ${MAX_NAME} characters`)
    return value === '' ? [] : [[name, value] as const]
  })
  return { email, password, ...Object.fromEntries(names) }
}

async function takeMail(
  deps: Deps<Pool>,
  journey: Journey,
  { password, ...from }: { mail: AskedMail; code: string; password: string; isKept: boolean },
  actor: Actor,
): Promise<SignInOutcome | undefined> {
  const { purpose, token } = from.mail
  if (token === undefined && from.code.trim() === '') throw fieldError('code', 'required', 'is required')
  if (purpose === 'verify_email') return verifyByMail(deps, journey, from, actor)
  if (purpose === 'magic_link') return signInByMail(deps, journey, from, actor)
  assertPassword(password)
  return resetByMail(deps, journey, { ...from, password }, actor)
}

function emailIn({ email: typed }: Pick<StepForm, 'email'>): string {
  const email = normalizeEmail(typed)
  if (email === undefined) throw fieldError('email', 'invalid_value', 'must be an e-mail address')
  return email
}

function assertPassword(password: string): void {
  if (password === '') throw fieldError('password', 'required', 'is required')
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    throw fieldError('password', 'too_long', `must have at most ${MAX_PASSWORD_BYTES} bytes`)
}

function credentialsIn(form: StepForm): { email: string; password: string; isKept: boolean } {
  const { password } = form
  const email = emailIn(form)
  assertPassword(password)
  return { email, password, isKept: isKeptIn(form) }
}

/** The buttons of the providers stand in the forms that ask who somebody is, and send "Keep me signed in" with them. */
export function choosesProvider({ step, provider }: StepForm): boolean {
  return (step === 'sign_in' || step === 'register') && provider !== ''
}

export function isKeptIn({ keep }: StepForm): boolean {
  return keep === 'yes'
}
