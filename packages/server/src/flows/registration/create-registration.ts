import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { isVerifiedFor } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import type { App } from '../../models/app.ts'
import { provisionUser } from '../../resources/grants/provision-user.ts'
import { acceptInvitation } from '../../resources/invitations/accept-invitation.ts'
import { foundOrganization } from '../../resources/organizations/found-organization.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { createAccount, type EquippedAccount } from '../entry/create-account.ts'
import { enterAsNew } from '../entry/enter.ts'
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
  const newcomer = {
    email: input.email,
    passwordHash,
    firstName: input.first_name ?? null,
    lastName: input.last_name ?? null,
    emailVerified: false,
    madeBy: 'self' as const,
    authMethod: 'password',
  }
  const equip = (deps: Deps<Tx>, user: PooledUser) => associateOrganization(deps, input, app, user, actor)
  const { user, organization, access, proof } = await createAccount(deps, { app, newcomer, equip, received }, actor)
  const tokens = proof && input.mode !== 'register_or_return' ? await enterAsNew(deps, proof, actor) : undefined
  return presentRegistration({ created: true, user: presentUser(user), app, access, organization, tokens })
}

/**
 * Adds the user to an organization. The first match wins: invitation, `organization_name`, auto-provisioning, none. Auto-grant
 * gives access in each case.
 */
async function associateOrganization(
  deps: Deps<Tx>,
  input: RegisterInput,
  app: App,
  user: PooledUser,
  actor: Actor,
): Promise<EquippedAccount> {
  const overrides = { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes }
  const invitation = invitationOf(input)
  const accepted = invitation ? await acceptInvitation(deps, invitation, user, actor) : undefined
  const equipped = accepted?.user ?? user
  let organization = accepted?.membership ?? null
  if (!accepted && input.organization_name)
    organization = await foundOrganization(deps, { name: input.organization_name, userId: user.id, appId: app.id }, actor)
  // Otherwise provisioning waits for the first entry.
  if (app.auto_grant_on_signup && isVerifiedFor(app, equipped)) {
    await provisionUser(
      deps,
      { userId: user.id, email: user.email, app, overrides, joinOrganization: organization === null },
      actor,
    )
  }
  return { user: equipped, organization }
}
