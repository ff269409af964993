import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { MAX_NAME } from '../../lib/fields.ts'
import { MAX_PASSWORD_BYTES } from '../../lib/password.ts'
import { isUuid } from '../../lib/uuid.ts'
import type { AskedMail, FirstFactorTicket, Resume, StepResult } from '../sign-in/sealed-fields.ts'
import {
  askForAccess,
  beginEnrolment,
  createAccountOnPage,
  enrol,
  joinByInvitation,
  type NewAccountFields,
  signOut,
} from './account-steps.ts'
import { continueAs } from './authorize.ts'
import { type Journey, type SignInOutcome, signInByPasskey, signInByPassword, signInBySecondFactor } from './credential-steps.ts'
import { denyDevice, devicePath } from './device-grant.ts'
import { askForMail, emailOfPerson, resetByMail, signInByMail, verifyByMail } from './mail-steps.ts'
import { goToProvider, signInByProvider } from './provider-steps.ts'
import type { StepForm } from './schema.ts'

/** What a step has brought about. Undefined leads on to the next one, which the request itself decides. */
export type Outcome =
  | (SignInOutcome & { mail?: AskedMail })
  | (StepResult & { deviceToken?: string })
  | { signedOut: true }
  | undefined

/** Does what a form of the page asks for. */
export async function takeStep(
  deps: Deps<Pool>,
  form: StepForm,
  at: { journey: Journey; userId: string | undefined; resume: Resume | undefined },
  actor: Actor,
): Promise<Outcome | { location: string }> {
  const { journey, userId, resume } = at
  if (choosesProvider(form))
    return { location: await goToProvider(deps, journey, { code: form.provider, isKept: isKeptIn(form) }, actor) }
  if (form.passkey !== '')
    return signInByPasskey(deps, journey, { sent: form.passkey, field: form.passkey_challenge, isKept: isKeptIn(form) }, actor)
  switch (form.step) {
    case 'sign_in':
      // It travels in a URL, so what cannot be an address is left out.
      if (form.instead) return { instead: form.instead, typed: normalizeEmail(form.email) }
      return signInByPassword(deps, journey, credentialsIn(form), actor)
    case 'two_factor':
      return takeSecondFactor(deps, journey, { ticket: resume?.ticket, typed: form.two_factor_code }, actor)
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
      return email === undefined ? undefined : askForMail(deps, journey, { purpose, email }, resume?.mail, actor)
    }
    case 'mail_code':
      return (
        resume?.mail &&
        takeMail(deps, journey, { mail: resume.mail, code: form.code, password: form.password, isKept: isKeptIn(form) }, actor)
      )
    case 'agree': {
      if (!resume?.named) return undefined
      const { code, isNew, isKept } = resume.named
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

/** The second factor, after the first one: a password, a mail or a provider has made the ticket. */
async function takeSecondFactor(
  deps: Deps<Pool>,
  journey: Journey,
  { ticket, typed }: { ticket: FirstFactorTicket | undefined; typed: string },
  actor: Actor,
) {
  if (!ticket) throw new ApiError('invalid_token')
  const code = typed.trim()
  if (code === '') throw fieldError('two_factor_code', 'required', 'is required')
  const { providerCode, mailTokenHash, isKept } = ticket
  if (providerCode !== undefined) {
    const answered = { code: providerCode, isKept, agreed: 'sign_in', second: { ticket, code } } as const
    return signInByProvider(deps, journey, answered, actor)
  }
  if (mailTokenHash !== undefined) return signInByMail(deps, journey, { ticket, twoFactorCode: code }, actor)
  return signInBySecondFactor(deps, journey, { ticket, code }, actor)
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
