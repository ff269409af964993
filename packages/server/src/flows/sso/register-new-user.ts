import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { checkPolicy } from '../../resources/apps/check-policy.ts'
import { insertIdentity } from '../../resources/identities/identities.ts'
import { recordingLoginFailure } from '../sign-in/attempt.ts'
import { createAccount, finishSignUp, provisionNewcomer } from '../sign-in/create-account.ts'
import { enter } from '../sign-in/enter.ts'
import type { Exchange } from './exchange.ts'
import { keepProviderOf, lockSubject, spendCode } from './exchange.ts'
import { findMatchedUser, isTrustedAddress } from './find-matched-user.ts'

/**
 * Registers a user whom a provider vouches for, like any registration but without a password. If the app does not grant on
 * sign-up, the user exists afterwards, but the answer is `app_access_denied` until an admin adds a grant. If the app asks for a
 * verified address and the provider is not trusted for it, the answer is `email_unverified`. Returns undefined if such a user
 * exists by now. Throws `sso_email_missing` and the policy's codes.
 */
export async function registerNewUser(deps: Deps<Pool>, exchange: Exchange, actor: Actor): Promise<TokenAnswer | undefined> {
  const { app, profile } = exchange
  const target = { email: profile.email ?? '', app }
  const registered = await recordingLoginFailure(deps, { ...target, user: undefined }, actor, () =>
    transaction(deps, (deps) => register(deps, exchange, actor)),
  )
  if (!registered || registered.tokens) return registered?.tokens
  return recordingLoginFailure(deps, { ...target, user: registered.user }, actor, async () => {
    if (registered.access === 'unverified') throw new ApiError('email_unverified')
    throw new ApiError('app_access_denied', { detail: 'The user is registered but has no active grant for this app' })
  })
}

interface Registered {
  user: { id: string }
  access: 'granted' | 'pending' | 'unverified'
  /** Undefined unless access is granted. */
  tokens: TokenAnswer | undefined
}

async function register(deps: Deps<Tx>, exchange: Exchange, actor: Actor): Promise<Registered | undefined> {
  const { app, login, profile } = exchange
  const { email, firstName, lastName } = profile
  const provider = await keepProviderOf(deps, exchange)
  if (email === null) throw new ApiError('sso_email_missing', { detail: 'Ask the provider for the scope email' })
  checkPolicy(app, { email, method: provider.code, isInvited: false })
  await lockSubject(deps, exchange)
  if (await findMatchedUser(deps, exchange, provider)) return undefined
  await spendCode(deps, login)

  const emailVerified = isTrustedAddress(provider, profile)
  const account = { email, firstName, lastName, emailVerified, passwordHash: null, madeBy: 'provider' as const }
  const authMethod = provider.code
  const made = await createAccount(deps, { app, newcomer: { ...account, authMethod } }, actor)
  const subject = { providerId: provider.id, subject: profile.subject }
  await insertIdentity(deps, subject, { userId: made.id, appId: app.id, provider: provider.code }, actor)
  const equipped = await provisionNewcomer(deps, { app, made, overrides: {} }, actor)
  const { access, entry } = await finishSignUp(deps, { app, account: equipped, authMethod, received: {} }, actor)
  return { user: made, access, tokens: entry && (await enter(deps, { ...entry, counted: undefined }, actor)) }
}
