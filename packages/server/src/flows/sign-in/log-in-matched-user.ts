import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { HalfProof, Proof } from '../../lib/proof.ts'
import { claimByMailbox, findClaimable } from '../../resources/account-claims/claim-accounts.ts'
import { insertIdentity } from '../../resources/identities/identities.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import type { ClaimableAccount, PooledUser } from '../../resources/users/present.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
import { byToken, type CountedAttempt, withAttempt } from './attempt.ts'
import { findMatchedUser, type MatchedUser } from './find-matched-user.ts'
import { firstFactor, passSecondFactor, proofOfClaimed } from './proof.ts'
import { type Exchange, keepProviderOf, lockSubject, spendCode } from './provider-answer.ts'

/** How a login by a provider goes on: where the second factor comes from, and what the proof opens. */
export interface ProviderLogin<R> {
  twoFactorCode: string | undefined
  /** The first factor, if it was shown in an earlier step. */
  halfOf?: (user: PooledUser) => HalfProof<PooledUser>
  finish(deps: Deps<Tx>, shown: { proof: Proof; user: PooledUser; counted: CountedAttempt | undefined }): Promise<R>
}

/**
 * Logs in a user whom a provider vouches for, and links the two if they are not linked yet. Linking by e-mail verifies the
 * address, and claims an unproven account. Returns undefined if the login no longer matches the user in the same way.
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
    // Spend the code before the transaction. An account that is about to be claimed needs none.
    const isClaim = (await accountToClaim(deps, matched)) !== undefined
    const half = login.halfOf?.(user) ?? firstFactor(deps, user, provider)
    const proof = isClaim ? undefined : await passSecondFactor(deps, half, login.twoFactorCode, actor)
    const done = await transaction(deps, (deps) => logIn(deps, exchange, { ...matched, proof, counted }, login, actor))
    if (!done) await giveBackAttempt(deps, counted.attempt)
    return done
  })
}

/** `proof` is undefined for an account that is claimed. */
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
