import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { isVerifiedFor, type MadeBy } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { preferredLocale } from '../../lib/locale.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { type Overrides, provisionUser } from '../../resources/grants/provision-user.ts'
import type { Acceptance } from '../../resources/invitations/invitations.ts'
import { addTokenMail } from '../../resources/mail/compose-mail.ts'
import type { PageOfMail } from '../../resources/mail/mail-tokens.ts'
import type { EntryRequest } from '../../resources/sessions/admit.ts'
import { BASE_ROLE } from '../../resources/users/administration.ts'
import { listMemberships } from '../../resources/users/find-users.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { insertUser, type NewAccount } from '../../resources/users/users.ts'
import { announceUser } from '../../resources/webhooks/webhooks.ts'
import { methodDetails } from './enter.ts'
import { proofOfNewcomer } from './prove.ts'

/** What is known about a user who signs up. */
interface SignUpDetails {
  email: string
  passwordHash: string | null
  firstName: string | null
  lastName: string | null
  /** What the user said. Otherwise the request tells. */
  locale?: string | undefined
  emailVerified: boolean
  madeBy: MadeBy
  authMethod: string
}

/** An account that this transaction has created, with everything that belongs to it. */
interface EquippedAccount {
  made: NewAccount
  /** The user afterwards: an invitation may have verified the address. */
  user: PooledUser
  /** The organization that the user joined or founded, if any. */
  organization: Membership | null
  /** Whether the user was granted the app. */
  isGranted: boolean
}

/**
 * The outcome of a registration. `pending` waits for an admin, `unverified` for the user to verify the address, and `unenrolled`
 * for the user to set up the second factor that the app demands.
 */
export type Access = 'granted' | 'pending' | 'unverified' | 'unenrolled'

export function accessOf(app: App, user: PooledUser, grant: { isActive: boolean }): Access {
  if (!isVerifiedFor(app, user)) return 'unverified'
  return grant.isActive ? 'granted' : 'pending'
}

/**
 * Creates the account of a user who signs up. The caller holds the lock on the e-mail address and has checked that it is free. It
 * then adds what belongs to the account, and calls `finishSignUp`.
 */
export async function createAccount(
  deps: Deps<Tx>,
  { app, newcomer }: { app: App; newcomer: SignUpDetails },
  actor: Actor,
): Promise<NewAccount> {
  const { authMethod, ...account } = newcomer
  const [namespace, ...tags] = poolSet(app)
  const locale = account.locale ?? preferredLocale(actor.origin.languages ?? '') ?? null
  const event = { event: 'user.registered', actor, appId: app.id, ...methodDetails(authMethod) } as const
  return insertUser(deps, { ...account, locale, namespace, tags, roles: [BASE_ROLE] }, event)
}

/**
 * Gives a new user what the app gives at sign-up, on top of what an invitation gave or of an organization that the user founded.
 * If the app asks for a verified address, that waits for the first entry.
 */
export async function provisionNewcomer(
  deps: Deps<Tx>,
  {
    app,
    made,
    overrides,
    accepted,
    founded = null,
  }: { app: App; made: NewAccount; overrides: Overrides; accepted?: Acceptance | undefined; founded?: Membership | null },
  actor: Actor,
): Promise<EquippedAccount> {
  const user = accepted?.user ?? made
  const organization = accepted?.membership ?? founded
  const isInvited = accepted?.grantedAppId === app.id
  if (!app.auto_grant_on_signup || !isVerifiedFor(app, user)) return { made, user, organization, isGranted: isInvited }
  const joinOrganization = organization === null
  await provisionUser(deps, { userId: user.id, email: user.email, app, overrides, joinOrganization }, actor)
  const joins = joinOrganization && app.default_organization_id !== null
  const [joined = null] = joins ? await listMemberships(deps, user.id) : []
  return { made, user, organization: organization ?? joined, isGranted: true }
}

/**
 * Mails the verification link and tells the app's webhooks. `received` is the body of the request, for the webhooks. Returns what
 * the user can enter with, unless access is not granted.
 */
export async function finishSignUp(
  deps: Deps<Tx>,
  {
    app,
    account,
    authMethod,
    received,
    page,
  }: {
    app: App
    account: EquippedAccount
    authMethod: string
    received: Record<string, unknown>
    page?: PageOfMail | undefined
  },
  actor: Actor,
): Promise<{ access: Access; entry: Omit<EntryRequest, 'client'> | undefined }> {
  const { made, user, organization, isGranted } = account
  if (user.email_verified_at === null)
    await addTokenMail(deps, { purpose: 'verify_email', email: user.email, appId: app.id, userId: user.id, page }, actor.origin)
  await announceUser(deps, { app, user: presentUser(user), organization, received }, actor)
  const access = accessOf(app, user, { isActive: isGranted })
  const entry = {
    user,
    app,
    proof: proofOfNewcomer(made, authMethod),
    newcomer: { made, isGranted },
    overrides: {},
  }
  return { access, entry: access === 'granted' ? entry : undefined }
}
