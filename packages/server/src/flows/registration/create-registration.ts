import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { findAccess } from '../../resources/app-access/find-access.ts'
import { provisionAccess } from '../../resources/app-access/provision-access.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { acceptInvitation } from '../../resources/invitations/accept-invitation.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { foundOrganization } from '../../resources/organizations/found-organization.ts'
import { proofForNewUser } from '../../resources/second-factors/pass-second-factor.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import { insertUser } from '../../resources/users/insert-user.ts'
import { listMemberships } from '../../resources/users/list-memberships.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { announceUser } from '../../resources/webhooks/announce-user.ts'
import { invitationOf } from './invitation-of.ts'
import { presentRegistration } from './present.ts'
import type { RegisterInput, RegistrationAnswer } from './schema.ts'

export interface NewRegistration {
  input: RegisterInput
  app: App
  pools: readonly string[]
  passwordHash: string
  /** The body as it was parsed, before it was validated. */
  received: Record<string, unknown>
}

/**
 * Creates the user with everything that belongs to it (contract 4.4 step 5), in the transaction of the caller, who holds the lock
 * on the e-mail and has checked for a collision.
 */
export async function createRegistration(
  deps: Deps<Tx>,
  { input, app, pools, passwordHash, received }: NewRegistration,
  actor: Actor,
): Promise<RegistrationAnswer> {
  const user = await insertUser(deps, {
    email: input.email,
    passwordHash,
    firstName: input.first_name ?? null,
    lastName: input.last_name ?? null,
    namespace: app.registration_namespace,
    tags: pools.filter((pool) => pool !== app.registration_namespace),
    emailVerified: false,
    madeBy: 'self',
    roles: ['base_user'],
  })
  await recordEvent(deps, { event: 'user.registered', actor, userId: user.id, appId: app.id })
  const organization = await associateOrganization(deps, input, app, user, actor)
  await askForVerification(deps, user, app) // step 6
  const access = await findAccess(deps, user.id, app.id)
  const opensSession = access.isActive && input.mode !== 'register_or_return'
  const entry = { user, app, secondFactor: proofForNewUser(user), overrides: {}, authMethod: 'password' }
  const tokens = opensSession ? await openSession(deps, entry, actor) : undefined
  const answer = presentRegistration({ created: true, user, app, granted: access.isActive, organization, tokens })
  await announceUser(deps, { app, user: answer.user, organization, received }, actor)
  return answer
}

/** Contract 4.4 step 6. An invitation may have verified the address already. */
async function askForVerification(deps: Deps<Tx>, user: PooledUser, app: App): Promise<void> {
  if (user.email_verified_at !== null) return
  await addTokenMail(deps, { purpose: 'verify_email', email: user.email, appId: app.id, userId: user.id })
}

/** First match wins: invitation, `organization_name`, auto-provisioning, none. Access by auto-grant is given in each case (decisions 4). */
async function associateOrganization(
  deps: Deps<Tx>,
  input: RegisterInput,
  app: App,
  user: PooledUser,
  actor: Actor,
): Promise<Membership | null> {
  const overrides = { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes }
  const invitation = invitationOf(input)
  let organization: Membership | null = null
  if (invitation) organization = (await acceptInvitation(deps, invitation, user, actor)).membership
  else if (input.organization_name)
    organization = await foundOrganization(deps, { name: input.organization_name, userId: user.id, appId: app.id }, actor)
  if (app.auto_grant_on_signup) {
    await provisionAccess(deps, { userId: user.id, app, overrides, joinOrganization: organization === null }, actor)
  }
  return organization ?? (await listMemberships(deps, user.id))[0] ?? null
}
