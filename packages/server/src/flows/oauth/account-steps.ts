import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { openRequest } from '../../resources/grants/requests.ts'
import { acceptInvitation } from '../../resources/invitations/invitations.ts'
import {
  callerOfBrowser,
  endBrowserSession,
  findBrowserSession,
  newDeviceTokenFor,
} from '../../resources/sessions/browser-sessions.ts'
import { getUser, lockUserRow } from '../../resources/users/users.ts'
import { register } from '../registration/register.ts'
import { newCodeKey } from '../sign-in/email-code.ts'
import type { AskedMail } from '../sign-in/sealed-fields.ts'
import { activateTwoFactor, digestOfSeed, setUpTwoFactor } from '../two-factor/two-factor.ts'
import { findAsked } from './authorize.ts'
import { type Journey, type SignInOutcome, signInByPassword } from './credential-steps.ts'
import { pageOfMail } from './mail-steps.ts'
import type { NextStep } from './next-step.ts'

const unproven = { password: undefined, two_factor_code: undefined }

/** The person whom the page asks to set up a second factor. Undefined if it does not, or asks somebody else by now. */
async function findEnrolling(
  deps: Deps,
  journey: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<PersonCaller | undefined> {
  const isAsked = (step: NextStep) => 'ask' in step && step.ask === 'enrol'
  const person = await findAsked(deps, journey, { userId, isAsked }, actor)
  return person && callerOf(deps, person.live)
}

/**
 * Somebody who has nothing but a first factor has just shown it, which counts from when they came from there: not every provider
 * tells when they signed in at it.
 */
function callerOf(deps: Deps, live: LiveBrowserSession): PersonCaller {
  return callerOfBrowser(deps, { ...live, first_proven_at: live.signed_in_at ?? live.first_proven_at })
}

/** Gives the person a seed, which the page then shows. Throws what `setUpTwoFactor` throws. */
export async function beginEnrolment(
  deps: Deps<Pool>,
  journey: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<{ seed: string } | undefined> {
  const caller = await findEnrolling(deps, journey, userId, actor)
  if (!caller) return undefined
  const { secret } = await setUpTwoFactor(deps, unproven, caller, { ...actor, caller })
  return { seed: digestOfSeed(secret) }
}

/**
 * Turns the second factor on. The person has shown it by that, and goes on to the app once they have seen their recovery codes.
 * Throws what `activateTwoFactor` throws.
 */
export async function enrol(
  deps: Deps<Pool>,
  journey: Journey,
  { userId, code: typed }: { userId: string | undefined; code: string },
  actor: Actor,
): Promise<{ codes: { userId: string; codes: string[] }; deviceToken: string } | undefined> {
  const code = typed.trim()
  if (code === '') throw fieldError('code', 'required', 'is required')
  const caller = await findEnrolling(deps, journey, userId, actor)
  if (!caller) return undefined
  const by = { ...actor, caller }
  const { app } = journey.request
  const { recovery_codes: codes } = await activateTwoFactor(deps, { ...unproven, code, demandedBy: app.id }, caller, by)
  return { codes: { userId: caller.userId, codes }, deviceToken: await newDeviceTokenFor(deps, caller.userId) }
}

/** What the form for a new account asks for. */
export interface NewAccountFields {
  email: string
  password: string
  first_name?: string
  last_name?: string
}

/**
 * Creates an account by the same rules as `POST /auth/register`, and signs in with it. Where the app asks for a verified address,
 * the page goes on with the code of the mail. Throws what a registration throws.
 */
export async function createAccountOnPage(
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
export async function joinByInvitation(
  deps: Deps<Pool>,
  journey: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<void> {
  const { invite } = journey.request
  const isAsked = (step: NextStep) => 'ask' in step && step.ask === 'join'
  const person = await findAsked(deps, journey, { userId, isAsked }, actor)
  if (invite === undefined || !person) return
  await transaction(deps, async (deps) => {
    await lockUserRow(deps, person.user.id)
    const user = await getUser(deps, person.user.id)
    // The sessions of the user were ended meanwhile. A membership would stay.
    if (user.status !== 'active' || user.min_token_version > person.live.version) throw new ApiError('invalid_invitation')
    await acceptInvitation(deps, invite, user, actor)
  })
}

/**
 * Asks the admins to let the person who is signed in into the app. Returns false if the page does not offer that now. Throws what
 * `openRequest` throws.
 */
export async function askForAccess(
  deps: Deps<Pool>,
  journey: Journey,
  userId: string | undefined,
  actor: Actor,
): Promise<boolean> {
  const isAsked = (step: NextStep) => 'refuse' in step && step.refuse === 'app_access_denied'
  const person = await findAsked(deps, journey, { userId, isAsked }, actor)
  if (!person) return false
  await openRequest(deps, { user: person.user, app: journey.request.app, message: null }, actor)
  return true
}

/** Signs the person out in this browser. The apps that they entered are left alone. */
export async function signOut(deps: Deps<Pool>, { secret }: Pick<Journey, 'secret'>, actor: Actor): Promise<void> {
  const live = await findBrowserSession(deps, secret)
  if (!live) return
  await transaction(deps, (deps) => endBrowserSession(deps, { id: live.browser_session_id, reason: 'another_account' }, actor))
}
