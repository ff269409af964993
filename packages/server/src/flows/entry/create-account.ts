import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { isVerifiedFor, type MadeBy } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { findGrantState } from '../../resources/grants/find-grant-state.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { proofForNewUser } from '../../resources/second-factors/pass-second-factor.ts'
import { insertUser } from '../../resources/users/insert-user.ts'
import { listMemberships } from '../../resources/users/list-memberships.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { announceUser } from '../../resources/webhooks/announce-user.ts'
import { methodDetails, type Proof } from './enter.ts'

/** What is known about a user who signs up. */
export interface SignUpDetails {
  email: string
  passwordHash: string | null
  firstName: string | null
  lastName: string | null
  emailVerified: boolean
  madeBy: MadeBy
  authMethod: string
}

interface SignUp {
  app: App
  newcomer: SignUpDetails
  /** Adds what belongs to the account, including the grant for the app. */
  equip(deps: Deps<Tx>, user: PooledUser): Promise<EquippedAccount>
  /** The body of the request, for the webhooks. */
  received: Record<string, unknown>
}

export interface EquippedAccount {
  /** The user afterwards: an invitation may have verified the address. */
  user: PooledUser
  /** The organization that the user joined or founded, if any. */
  organization: Membership | null
}

/** The outcome of a registration. `pending` waits for an admin, `unverified` for the user to verify the address. */
type Access = 'granted' | 'pending' | 'unverified'

interface CreatedAccount extends EquippedAccount {
  access: Access
  /** Undefined unless access is granted. */
  proof: Proof | undefined
}

export function accessOf(app: App, user: PooledUser, grant: { isActive: boolean }): Access {
  if (!isVerifiedFor(app, user)) return 'unverified'
  return grant.isActive ? 'granted' : 'pending'
}

/**
 * Creates the account of a user who signs up, with everything that belongs to it. The caller holds the lock on the e-mail address
 * and has checked that it is free.
 */
export async function createAccount(
  deps: Deps<Tx>,
  { app, newcomer, equip, received }: SignUp,
  actor: Actor,
): Promise<CreatedAccount> {
  const { authMethod, ...account } = newcomer
  const [namespace, ...tags] = poolSet(app)
  const made = await insertUser(deps, { ...account, namespace, tags, roles: ['base_user'] })
  await recordEvent(deps, { event: 'user.registered', actor, userId: made.id, appId: app.id, ...methodDetails(authMethod) })
  const { user, ...equipped } = await equip(deps, made)
  const organization = equipped.organization ?? (await listMemberships(deps, user.id))[0] ?? null
  if (user.email_verified_at === null)
    await addTokenMail(deps, { purpose: 'verify_email', email: user.email, appId: app.id, userId: user.id }, actor.origin)
  await announceUser(deps, { app, user: presentUser(user), organization, received }, actor)
  const grant = await findGrantState(deps, user.id, app.id)
  const proof = { user, app, secondFactor: proofForNewUser(made), overrides: {}, authMethod, counted: undefined }
  const access = accessOf(app, user, grant)
  return { user, organization, access, proof: access === 'granted' ? proof : undefined }
}
