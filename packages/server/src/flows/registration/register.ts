import type { Pool } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password-policy.ts'
import type { App } from '../../models/app.ts'
import { checkPolicy, takesSignUps } from '../../resources/apps/check-policy.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { getAcceptableInvitation, opensSignUp } from '../../resources/invitations/accept-invitation.ts'
import { answerCollision, findCollision, logInInstead } from './answer-collision.ts'
import { createRegistration } from './create-registration.ts'
import { invitationOf } from './invitation-of.ts'
import type { RegisterInput, RegistrationAnswer } from './schema.ts'

/**
 * Registers a user, step by step (docs/flows/registration.md). The route has checked who may use `register_or_return`. `rawBody`
 * is for the webhooks. If several calls register one address in overlapping pool sets at once, even on several
 * servers, only one creates the user. Throws `app_code_required`, `app_not_found`, `app_inactive`, the policy's codes,
 * `validation_failed`, `user_exists`, `invalid_invitation`, and for `register_or_login` what a login throws.
 */
export async function register(
  deps: Deps<Pool>,
  input: RegisterInput,
  rawBody: () => Record<string, unknown>,
  actor: Actor,
): Promise<RegistrationAnswer> {
  const app = await resolveApp(deps, input) // step 1
  const invitation = invitationOf(input)
  const isInvited = invitation !== undefined && (await isInvitedTo(deps, app, invitation, input))
  // If the app does not take this sign-up, this is only a login. Neither its answer nor its timing reveals who is registered.
  if (input.mode === 'register_or_login' && !takesSignUps(app, { isInvited })) return logInInstead(deps, input, app, actor)
  const founds = input.organization_name !== undefined && invitation === undefined
  checkPolicy(app, { email: input.email, method: 'password', isInvited, founds }) // step 2

  // steps 3 and 4, first without the lock: if the user already exists, no hash is needed
  const existing = await findCollision(deps, input.email, app)
  if (existing) return answerCollision(deps, input, app, existing, actor)

  const fault = passwordFault(input.password, input.email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  const passwordHash = await deps.passwords.hash(input.password, hashLineOf(actor))
  const received = rawBody()

  const outcome = await transaction(deps, async (deps) => {
    // An index on one pool cannot see two apps whose pool sets overlap, so registrations of this address run one at a time.
    await lockUntilCommit(deps.db, 'email', input.email)
    const rival = await findCollision(deps, input.email, app) // steps 3 and 4 again, under the lock
    if (rival) return { rival }
    return { answer: await createRegistration(deps, { input, app, passwordHash, received }, actor) } // step 5
  })
  return outcome.rival ? answerCollision(deps, input, app, outcome.rival, actor) : outcome.answer
}

/** If only the invitation allows this sign-up, it must be valid before any user is searched for. Throws `invalid_invitation`. */
async function isInvitedTo(deps: Deps, app: App, token: string, { email }: RegisterInput): Promise<boolean> {
  // An invitation that nothing depends on is read when it is accepted.
  if (app.sign_up !== 'invitation') return true
  return opensSignUp(deps, await getAcceptableInvitation(deps, token, { email }), app)
}

async function resolveApp(deps: Deps, input: RegisterInput): Promise<App> {
  const code = input.app_code ?? deps.config.defaultAppCode
  if (code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return getActiveApp(deps, code)
}
