import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { acceptInvitation } from '../../resources/invitations/accept-invitation.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { register } from '../registration/register.ts'
import { newCodeKey } from '../sign-in/mail-code.ts'
import type { AskedMail } from '../sign-in/sealed-fields.ts'
import { foreseeStep } from './authorize.ts'
import { pageOfMail } from './mail-steps.ts'
import { type Journey, type SignInOutcome, signInByPassword } from './steps.ts'

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
