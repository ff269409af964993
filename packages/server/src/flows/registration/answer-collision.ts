import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { findGrantState } from '../../resources/grants/find-grant-state.ts'
import { acceptInvitation, opensSignUp } from '../../resources/invitations/accept-invitation.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { accessOf } from '../entry/create-account.ts'
import { login } from '../entry/login.ts'
import { invitationOf } from './invitation-of.ts'
import { presentRegistration } from './present.ts'
import type { RegisterInput, RegistrationAnswer } from './schema.ts'

/**
 * The user with whom a registration of this e-mail collides: one in any pool of the app's pool set, as home or by tag. In a
 * transaction that holds the lock on the e-mail the result stays true until the transaction ends.
 */
export function findCollision(deps: Deps, email: string, app: App): Promise<PooledUser | undefined> {
  return findUserInPools(deps, email, poolSet(app))
}

/**
 * Answers a registration that collides with this user, by its mode. Throws `user_exists` for `register`, and for
 * `register_or_login` what a login throws.
 */
export async function answerCollision(
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
export async function logInInstead(deps: Deps<Pool>, input: RegisterInput, app: App, actor: Actor): Promise<RegistrationAnswer> {
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
    return { user: accepted.user, opensSignUp: accepted.joined && (await opensSignUp(deps, accepted.invitation, app)) }
  }
  const asLogin = { ...input, app_code: app.code, organization_id: undefined }
  const tokens = await login(deps, asLogin, actor, invitation ? (deps, user) => accept(deps, user, invitation) : undefined)
  // Use the user that the login returns: an invitation may have verified the address.
  return presentRegistration({ created: false, user: tokens.user, app, access: 'granted', organization, tokens })
}
