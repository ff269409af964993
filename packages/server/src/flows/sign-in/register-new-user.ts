import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Proof } from '../../lib/proof.ts'
import { checkPolicy } from '../../resources/apps/check-policy.ts'
import { insertIdentity } from '../../resources/identities/identities.ts'
import type { EntryRequest } from '../../resources/sessions/admit.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { recordingLoginFailure } from './attempt.ts'
import { type Access, createAccount, finishSignUp, provisionNewcomer } from './create-account.ts'
import { findMatchedUser, isTrustedAddress } from './find-matched-user.ts'
import { proofOfNewcomer } from './proof.ts'
import { type Exchange, keepProviderOf, lockSubject, spendCode } from './provider-answer.ts'

/** An account that a provider has led to. */
export interface RegisteredByProvider {
  user: PooledUser
  proof: Proof
  access: Access
  /** Undefined unless access is granted. */
  entry: Omit<EntryRequest, 'client'> | undefined
}

/**
 * Registers a user whom a provider vouches for, like any registration but without a password. `finish` decides what the account
 * opens, in the same transaction. Returns undefined if such a user exists by now. Throws `sso_email_missing` and the policy's codes.
 */
export async function registerNewUser<R>(
  deps: Deps<Pool>,
  exchange: Exchange,
  finish: (deps: Deps<Tx>, registered: RegisteredByProvider) => Promise<R>,
  actor: Actor,
): Promise<R | undefined> {
  const target = { email: exchange.profile.email ?? '', app: exchange.app, user: undefined }
  return recordingLoginFailure(deps, target, actor, () =>
    transaction(deps, async (deps) => {
      const registered = await register(deps, exchange, actor)
      return registered && finish(deps, registered)
    }),
  )
}

async function register(deps: Deps<Tx>, exchange: Exchange, actor: Actor): Promise<RegisteredByProvider | undefined> {
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
  return { user: equipped.user, proof: proofOfNewcomer(made, authMethod), access, entry }
}
