import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { findAccess } from '../../resources/app-access/find-access.ts'
import { provisionAccess } from '../../resources/app-access/provision-access.ts'
import { checkPolicy } from '../../resources/apps/check-policy.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { insertIdentity } from '../../resources/identities/insert-identity.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { proofForNewUser } from '../../resources/second-factors/pass-second-factor.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import { insertUser } from '../../resources/users/insert-user.ts'
import { listMemberships } from '../../resources/users/list-memberships.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { announceUser } from '../../resources/webhooks/announce-user.ts'
import type { Exchange } from './exchange.ts'
import { findEntrant } from './find-entrant.ts'
import { isTrustedAddress } from './is-trusted-address.ts'
import { keepProviderOf, lockSubject } from './keep-provider.ts'
import { spendCode } from './spend-code.ts'

/**
 * Registers whom a provider vouches for, as contract 4.4 does, without a password. Where the app grants no access by itself the user is
 * there afterwards, and the answer is `app_access_denied` until an admin grants it. Undefined when there is such a user by now.
 * Throws `sso_email_missing` and the policy's codes.
 */
export async function registerEntrant(deps: Deps<Pool>, exchange: Exchange, actor: Actor): Promise<TokenAnswer | undefined> {
  const outcome = await transaction(deps, (deps) => register(deps, exchange, actor))
  if (!outcome || outcome.tokens) return outcome?.tokens
  exchange.tried.user = outcome.user
  throw new ApiError('app_access_denied', { detail: 'The user is registered and has no active grant for this app' })
}

interface Registered {
  user: PooledUser
  /** Undefined when the app grants no access by itself. */
  tokens: TokenAnswer | undefined
}

async function register(deps: Deps<Tx>, exchange: Exchange, actor: Actor): Promise<Registered | undefined> {
  const { app, login, pools, profile } = exchange
  const { email } = profile
  const provider = await keepProviderOf(deps, exchange)
  if (email === null) throw new ApiError('sso_email_missing', { detail: 'Ask the provider for the scope email' })
  checkPolicy(app, { email, method: provider.code, isInvited: false })
  await lockSubject(deps, exchange)
  if (await findEntrant(deps, exchange, provider)) return undefined
  await spendCode(deps, login)

  const user = await insertUser(deps, {
    email,
    passwordHash: null,
    firstName: profile.firstName,
    lastName: profile.lastName,
    namespace: app.registration_namespace,
    tags: pools.filter((pool) => pool !== app.registration_namespace),
    emailVerified: isTrustedAddress(provider, profile),
    madeBy: 'provider',
    roles: ['base_user'],
  })
  const about = { actor, userId: user.id, appId: app.id }
  const details = { auth_method: provider.code }
  await recordEvent(deps, { event: 'user.registered', ...about, details })
  const subject = { providerId: provider.id, subject: profile.subject }
  await insertIdentity(deps, subject, { userId: user.id, appId: app.id, provider: provider.code }, actor)
  await provisionNewUser(deps, user, app, actor)
  const isGranted = (await findAccess(deps, user.id, app.id)).isActive
  const entry = { user, app, secondFactor: proofForNewUser(user), overrides: {}, authMethod: provider.code }
  const tokens = isGranted ? await openSession(deps, entry, actor) : undefined
  if (tokens) await recordEvent(deps, { event: 'login.success', ...about, details })
  return { user, tokens }
}

/** Contract 4.3, the verification mail of 4.4 step 6, and the webhooks. */
async function provisionNewUser(deps: Deps<Tx>, user: PooledUser, app: App, actor: Actor): Promise<void> {
  if (app.auto_grant_on_signup)
    await provisionAccess(deps, { userId: user.id, app, overrides: {}, joinOrganization: true }, actor)
  if (user.email_verified_at === null)
    await addTokenMail(deps, { purpose: 'verify_email', email: user.email, appId: app.id, userId: user.id })
  const [organization = null] = await listMemberships(deps, user.id)
  await announceUser(deps, { app, user: presentUser(user), organization, received: {} }, actor)
}
