import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password-policy.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { checkPolicy, takesSignUps } from '../../resources/apps/check-policy.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { findGrantState } from '../../resources/grants/find-grant-state.ts'
import { acceptInvitation, getAcceptableInvitation } from '../../resources/invitations/accept-invitation.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { accessOf } from '../entry/create-account.ts'
import { login } from '../entry/login.ts'
import { createRegistration } from './create-registration.ts'
import { invitationOf } from './invitation-of.ts'
import { presentRegistration } from './present.ts'
import type { RegisterInput, RegistrationAnswer } from './schema.ts'

/**
 * Registers a user, step by step (docs/flows/registration.md). The route has checked who may use `register_or_return`. `received`
 * is the parsed body, for the webhooks. If several calls register one address in overlapping pool sets at once, even on several
 * servers, only one creates the user. Throws `app_code_required`, `app_not_found`, `app_inactive`, the policy's codes,
 * `validation_failed`, `user_exists`, `invalid_invitation`, and for `register_or_login` what a login throws.
 */
export async function register(
  deps: Deps<Pool>,
  input: RegisterInput,
  received: Record<string, unknown>,
  actor: Actor,
): Promise<RegistrationAnswer> {
  const app = await resolveApp(deps, input) // step 1
  const invitation = invitationOf(input)
  const isInvited = invitation !== undefined
  // If the app does not take this sign-up, this is only a login. Neither its answer nor its timing reveals who is registered.
  if (input.mode === 'register_or_login' && !takesSignUps(app, { isInvited })) return logInInstead(deps, input, app, actor)
  const founds = input.organization_name !== undefined && !isInvited
  checkPolicy(app, { email: input.email, method: 'password', isInvited, founds }) // step 2
  // Only the invitation allows this sign-up, so it must be valid before any user is searched for.
  if (isInvited && app.sign_up === 'invitation') await getAcceptableInvitation(deps, invitation, input)
  const pools = poolSet(app) // step 3

  // step 4, first without the lock: if the user already exists, no hash is needed
  const existing = await findUserInPools(deps, input.email, pools)
  if (existing) return meetExisting(deps, input, app, existing, actor)

  const fault = passwordFault(input.password, input.email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  const passwordHash = await deps.passwords.hash(input.password, hashLineOf(actor))

  const outcome = await transaction(deps, async (deps) => {
    // An index on one pool cannot see two apps whose pool sets overlap, so registrations of this address run one at a time.
    await lockUntilCommit(deps.db, 'email', input.email)
    const rival = await findUserInPools(deps, input.email, pools) // step 4 again, under the lock
    if (rival) return { rival }
    return { answer: await createRegistration(deps, { input, app, pools, passwordHash, received }, actor) } // step 5
  })
  return outcome.rival ? meetExisting(deps, input, app, outcome.rival, actor) : outcome.answer
}

async function resolveApp(deps: Deps, input: RegisterInput): Promise<App> {
  const code = input.app_code ?? deps.config.defaultAppCode
  if (code === undefined) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return getActiveApp(deps, code)
}

/** Step 4, if the user already exists: each mode has a different answer. */
async function meetExisting(
  deps: Deps<Pool>,
  input: RegisterInput,
  app: App,
  user: PooledUser,
  actor: Actor,
): Promise<RegistrationAnswer> {
  switch (input.mode) {
    case 'register':
      throw new ApiError('user_exists')
    case 'register_or_return': {
      const grant = await findGrantState(deps, user.id, app.id)
      const existing = { created: false, user: presentUser(user), app, access: accessOf(app, user, grant) }
      return presentRegistration({ ...existing, organization: null, tokens: undefined })
    }
    case 'register_or_login':
      return logInInstead(deps, input, app, actor)
  }
}

/** Runs the whole login from its first step, so that this mode cannot bypass a limit, a lock or a second factor. */
async function logInInstead(deps: Deps<Pool>, input: RegisterInput, app: App, actor: Actor): Promise<RegistrationAnswer> {
  const invitation = invitationOf(input)
  let organization: Membership | null = null
  const accept = async (deps: Deps<Tx>, verified: PooledUser, token: string) => {
    await lockUserRow(deps, verified.id)
    const user = await getUser(deps, verified.id)
    // The account was claimed, or its password changed, after the password was checked. The session would be dead, but a
    // membership would stay.
    if (user.min_token_version > verified.token_version) throw new ApiError('invalid_credentials')
    const accepted = await acceptInvitation(deps, token, user, actor)
    organization = accepted.membership
    return accepted
  }
  const asLogin = { ...input, app_code: app.code, organization_id: undefined }
  const tokens = await login(deps, asLogin, actor, invitation ? (deps, user) => accept(deps, user, invitation) : undefined)
  // Use the user that the login returns: an invitation may have verified the address.
  return presentRegistration({ created: false, user: tokens.user, app, access: 'granted', organization, tokens })
}
