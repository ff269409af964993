import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { App } from '../../models/app.ts'
import { findGrantState } from '../../resources/grants/find-grant-state.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { accessOf } from '../sign-in/create-account.ts'
import { logInWith } from '../sign-in/login.ts'
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
  const asLogin = { ...input, app, organization_id: undefined, invitation: invitationOf(input) }
  const { tokens, organization } = await logInWith(deps, asLogin, actor)
  // Use the user that the login returns: an invitation may have verified the address.
  return presentRegistration({ created: false, user: tokens.user, app, access: 'granted', organization, tokens })
}
