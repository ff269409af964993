import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { domainOf } from '../../lib/email.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { HalfProof, Proof } from '../../lib/proof.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { claimByMailbox, findClaimable } from '../../resources/account-claims/claim-accounts.ts'
import { assertMethodAllowed, checkPolicy } from '../../resources/apps/app-settings.ts'
import { assertAppActive } from '../../resources/apps/apps.ts'
import { findLinkedUser, insertIdentity } from '../../resources/identities/identities.ts'
import { addNotice } from '../../resources/mail/request-mail.ts'
import { giveBackAttempt } from '../../resources/rate-limits/rate-limits.ts'
import type { EntryRequest } from '../../resources/sessions/admit.ts'
import { isGooglePreset } from '../../resources/sso-providers/sso-providers.ts'
import { BASE_ROLE, listGlobalRoles } from '../../resources/users/administration.ts'
import { findUserInPools, verifyAddress } from '../../resources/users/find-users.ts'
import type { ClaimableAccount, PooledUser } from '../../resources/users/present.ts'
import { getUser, lockUserRow } from '../../resources/users/users.ts'
import { byToken, type CountedAttempt, recordingLoginFailure, withAttempt } from './attempt.ts'
import { type Access, createAccount, finishSignUp, provisionNewcomer } from './create-account.ts'
import { firstFactor, passSecondFactor, proofOfClaimed, proofOfNewcomer } from './prove.ts'
import { type Exchange, getProviderOf, keepProviderOf, lockSubject, type SsoProfile, spendCode } from './provider-login.ts'

/** A user of the app's pools, and how the provider's answer matched that user. */
export interface MatchedUser {
  user: PooledUser
  /** False if the user was found by the verified e-mail address and is not linked yet. */
  isLinked: boolean
  /** The code of the provider. */
  provider: string
}

/**
 * The user that a login is about: the one in the pools who is linked with the subject, otherwise the one with its e-mail address.
 * Undefined if there is none. This also decides whether the address may link, so the login calls it again under its locks. Throws
 * `auth_method_not_allowed`, `link_required`.
 */
async function findMatchedUser(
  deps: Deps,
  { login, profile, app }: Exchange,
  provider: SsoProvider,
): Promise<MatchedUser | undefined> {
  const pools = poolSet(app)
  const subject = { providerId: login.provider_id, subject: profile.subject }
  const linked = await findLinkedUser(deps, subject, pools)
  if (linked) return { user: linked, isLinked: true, provider: provider.code }
  const holder = profile.email === null ? undefined : await findUserInPools(deps, profile.email, pools)
  if (!holder) return undefined
  assertMethodAllowed(app, provider.code)
  if (!isTrustedAddress(provider, profile) || (await hasFurtherRoles(deps, holder)))
    throw new ApiError('link_required', { detail: 'Sign in another way, then link this provider to your account' })
  return { user: holder, isLinked: false, provider: provider.code }
}

/** The same, for a login that begins: the app is active, and the provider serves it. Audits a refusal. */
export async function matchUser(deps: Deps, exchange: Exchange, actor: Actor): Promise<MatchedUser | undefined> {
  const { app, profile } = exchange
  return recordingLoginFailure(deps, { email: profile.email ?? '', user: undefined, app }, actor, async () => {
    assertAppActive(app)
    return findMatchedUser(deps, exchange, await getProviderOf(deps, exchange))
  })
}

/** Linking by e-mail hands over the account, so it is never done for a user with more than the base role. */
async function hasFurtherRoles(deps: Deps, { id }: PooledUser): Promise<boolean> {
  return (await listGlobalRoles(deps, id)).some((code) => code !== BASE_ROLE)
}

type Asserter = Pick<SsoProvider, 'code' | 'issuer' | 'trusted_email_domains'>

/**
 * Whether the address that a provider asserts counts as verified here: the provider says that it is, and is trusted for its
 * domain. Google vouches for the mailboxes of gmail.com and of the organization in `hd`. Any other address of a Google account
 * was only confirmed once by the owner of the account.
 */
export function isTrustedAddress(
  provider: Asserter,
  { email, emailVerified, hostedDomain }: Pick<SsoProfile, 'email' | 'emailVerified' | 'hostedDomain'>,
): boolean {
  if (email === null || !emailVerified) return false
  const domain = domainOf(email)
  const { trusted_email_domains: trusted } = provider
  if (trusted.includes('*') || trusted.includes(domain)) return true
  return isGooglePreset(provider) && (domain === 'gmail.com' || domain === hostedDomain)
}

/** How a login by a provider goes on: where the second factor comes from, and what the proof opens. */
export interface ProviderLogin<R> {
  twoFactorCode: string | undefined
  /** The first factor, if it was shown in an earlier step. */
  halfOf?: (user: PooledUser) => HalfProof<PooledUser>
  finish(deps: Deps<Tx>, shown: { proof: Proof; user: PooledUser; counted: CountedAttempt | undefined }): Promise<R>
}

/**
 * Signs in a user whom a provider vouches for, and links the two if they are not linked yet. Linking by e-mail verifies the
 * address, and takes over an unproven account. Returns undefined if the login no longer matches the user in the same way.
 */
export async function logInMatchedUser<R>(
  deps: Deps<Pool>,
  exchange: Exchange,
  matched: MatchedUser,
  login: ProviderLogin<R>,
  actor: Actor,
): Promise<R | undefined> {
  const { app } = exchange
  const { user, provider } = matched
  const { email } = user
  const attempt = { target: { email, user, app }, way: () => byToken(deps, email, 'provider') }
  return withAttempt(deps, attempt, actor, async (_, counted) => {
    // Spend the code before the transaction. An account that is about to be taken over needs none.
    const isClaim = (await accountToClaim(deps, matched)) !== undefined
    const half = login.halfOf?.(user) ?? firstFactor(deps, user, provider)
    const proof = isClaim ? undefined : await passSecondFactor(deps, half, login.twoFactorCode, actor)
    const done = await transaction(deps, (deps) => logIn(deps, exchange, { ...matched, proof, counted }, login, actor))
    if (!done) await giveBackAttempt(deps, counted.attempt)
    return done
  })
}

/** `proof` is undefined for an account that is taken over. */
async function logIn<R>(
  deps: Deps<Tx>,
  exchange: Exchange,
  matched: MatchedUser & { proof: Proof | undefined; counted: CountedAttempt },
  { finish }: ProviderLogin<R>,
  actor: Actor,
): Promise<R | undefined> {
  const { app, login } = exchange
  const { proof, counted } = matched
  const provider = await keepProviderOf(deps, exchange)
  if (!matched.isLinked) await lockSubject(deps, exchange)
  // Roles are also assigned under this lock, so decide only now whether the user may be linked by e-mail.
  await lockUserRow(deps, matched.user.id)
  const now = await findMatchedUser(deps, exchange, provider)
  if (!now || !isSame(matched, now)) return undefined
  const user = await getUser(deps, matched.user.id)
  const account = await accountToClaim(deps, { ...now, user })
  if ((account === undefined) !== (proof !== undefined)) return undefined
  await spendCode(deps, login)

  if (proof && matched.isLinked) return finish(deps, { proof, user, counted })
  const about = { actor, appId: app.id }
  if (proof) {
    // The user was found by e-mail, so the provider verified the address.
    const verified = await verifyAddress(deps, user, about)
    await link(deps, exchange, { user, provider: provider.code }, actor)
    return finish(deps, { proof, user: verified, counted })
  }
  const claimed = await claimByMailbox(deps, { account: account!, ...about })
  await link(deps, exchange, { user, provider: provider.code }, actor)
  return finish(deps, { proof: proofOfClaimed(deps, claimed, provider.code), user: claimed.user, counted })
}

async function link(
  deps: Deps<Tx>,
  { login, profile, app: { id: appId } }: Exchange,
  { user, provider }: { user: { id: string; email: string }; provider: string },
  actor: Actor,
): Promise<void> {
  const subject = { providerId: login.provider_id, subject: profile.subject }
  await insertIdentity(deps, subject, { userId: user.id, appId, provider }, actor)
  await addNotice(deps, 'identity_linked', { user, appId, provider }, actor)
}

/** Whether a login is still about the same user, and in the same way. */
function isSame(one: MatchedUser, other: MatchedUser): boolean {
  return one.user.id === other.user.id && one.isLinked === other.isLinked
}

/** The account, if linking it is the first proof of its mailbox and so claims it. */
async function accountToClaim(deps: Deps, { user, isLinked }: MatchedUser): Promise<ClaimableAccount | undefined> {
  return isLinked ? undefined : findClaimable(deps, user)
}

/** An account that a provider has led to. */
interface RegisteredByProvider {
  user: PooledUser
  proof: Proof
  access: Access
  /** Undefined unless access is granted. */
  entry: Omit<EntryRequest, 'client'> | undefined
}

/**
 * Registers a user whom a provider vouches for, like any registration but without a password. `finish` decides what the account
 * opens, in the same transaction. Returns undefined if such a user exists by now. Throws `sso_email_missing` and the policy's
 * codes.
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
