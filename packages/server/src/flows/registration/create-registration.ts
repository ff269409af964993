import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { App } from '../../models/app.ts'
import { acceptInvitation } from '../../resources/invitations/accept-invitation.ts'
import { foundOrganization } from '../../resources/organizations/found-organization.ts'
import { presentUser } from '../../resources/users/present.ts'
import { createAccount, finishSignUp, provisionNewcomer } from '../sign-in/create-account.ts'
import { enterAsNew } from '../sign-in/enter.ts'
import { invitationOf } from './invitation-of.ts'
import { presentRegistration } from './present.ts'
import type { RegisterInput, RegistrationAnswer } from './schema.ts'

export interface NewRegistration {
  input: RegisterInput
  app: App
  passwordHash: string
  /** The parsed body, before validation. */
  received: Record<string, unknown>
}

/**
 * Creates the user with everything that belongs to it, in the caller's transaction. The caller holds the lock on the e-mail
 * address and has checked for a collision.
 */
export async function createRegistration(
  deps: Deps<Tx>,
  { input, app, passwordHash, received }: NewRegistration,
  actor: Actor,
): Promise<RegistrationAnswer> {
  const authMethod = 'password'
  const newcomer = {
    email: input.email,
    passwordHash,
    firstName: input.first_name ?? null,
    lastName: input.last_name ?? null,
    emailVerified: false,
    madeBy: 'self',
    authMethod,
  } as const
  const made = await createAccount(deps, { app, newcomer }, actor)
  // The first match wins: invitation, `organization_name`, the app's default organization, none.
  const invitation = invitationOf(input)
  const accepted = invitation === undefined ? undefined : await acceptInvitation(deps, invitation, made, actor)
  const founded =
    !accepted && input.organization_name
      ? await foundOrganization(deps, { name: input.organization_name, userId: made.id, appId: app.id }, actor)
      : null
  const overrides = { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes }
  const account = await provisionNewcomer(deps, { app, made, overrides, accepted, founded }, actor)
  const { user, organization } = account
  const { access, entry } = await finishSignUp(deps, { app, account, authMethod, received }, actor)
  const tokens = entry && input.mode !== 'register_or_return' ? await enterAsNew(deps, entry, actor) : undefined
  return presentRegistration({ created: true, user: presentUser(user), app, access, organization, tokens })
}
