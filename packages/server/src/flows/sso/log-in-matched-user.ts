import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { claimByMailbox } from '../../resources/account-claims/claim-accounts.ts'
import { findClaimable } from '../../resources/account-claims/find-claimable.ts'
import { insertIdentity } from '../../resources/identities/insert-identity.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { passSecondFactor, type SecondFactorProof } from '../../resources/second-factors/pass-second-factor.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import type { ClaimableAccount } from '../../resources/users/present.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
import { enter, type Proof } from '../entry/enter.ts'
import { byToken } from '../entry/way-in.ts'
import { type CountedAttempt, withAttempt } from '../entry/with-attempt.ts'
import type { Exchange } from './exchange.ts'
import { findMatchedUser, type MatchedUser } from './find-matched-user.ts'
import { keepProviderOf, lockSubject } from './keep-provider.ts'
import { spendCode } from './spend-code.ts'

/**
 * Logs in a user whom a provider vouches for, and links the two if they are not linked yet. Linking by e-mail verifies the
 * address, and claims an unproven account. Returns undefined if the login no longer matches the user in the same way.
 */
export async function logInMatchedUser(
  deps: Deps<Pool>,
  exchange: Exchange,
  matched: MatchedUser,
  actor: Actor,
): Promise<TokenAnswer | undefined> {
  const { app, twoFactorCode } = exchange
  const { user } = matched
  const { email } = user
  const prove = async (_: unknown, counted: CountedAttempt) => {
    // Spend the code before the transaction. An account that is about to be claimed needs none.
    const isClaim = (await accountToClaim(deps, matched)) !== undefined
    const factor = isClaim ? undefined : await passSecondFactor(deps, user, twoFactorCode, actor)
    const tokens = await transaction(deps, (deps) => logIn(deps, exchange, { ...matched, factor, counted }, actor))
    if (!tokens) await giveBackAttempt(deps, counted.attempt)
    return tokens
  }
  return withAttempt(deps, { target: { email, user, app }, way: () => byToken(deps, email, 'provider'), prove }, actor)
}

/** `factor` is undefined for an account that is claimed. */
async function logIn(
  deps: Deps<Tx>,
  exchange: Exchange,
  matched: MatchedUser & { factor: SecondFactorProof | undefined; counted: CountedAttempt },
  actor: Actor,
): Promise<TokenAnswer | undefined> {
  const { app, login, profile } = exchange
  const provider = await keepProviderOf(deps, exchange)
  if (!matched.isLinked) await lockSubject(deps, exchange)
  // Roles are also assigned under this lock, so decide only now whether the user may be linked by e-mail.
  await lockUserRow(deps, matched.user.id)
  const now = await findMatchedUser(deps, exchange, provider)
  if (!now || !isSame(matched, now)) return undefined
  const user = await getUser(deps, matched.user.id)
  const account = await accountToClaim(deps, { ...now, user })
  if ((account === undefined) !== (matched.factor !== undefined)) return undefined
  await spendCode(deps, login)

  const linkAndEnter = async ({ user, secondFactor }: Pick<Proof, 'user' | 'secondFactor'>): Promise<TokenAnswer> => {
    if (!matched.isLinked) {
      const subject = { providerId: provider.id, subject: profile.subject }
      await insertIdentity(deps, subject, { userId: user.id, appId: app.id, provider: provider.code }, actor)
      await addNotice(deps, 'identity_linked', { user, appId: app.id, provider: provider.code }, actor)
    }
    const { counted } = matched
    return enter(deps, { user, secondFactor, app, overrides: {}, authMethod: provider.code, counted }, actor)
  }
  const about = { actor, appId: app.id }
  if (account) return linkAndEnter(await claimByMailbox(deps, { account, ...about }))
  // A user who was found by e-mail has an address that the provider verified.
  const entering = matched.isLinked ? user : await verifyAddress(deps, user, about)
  return linkAndEnter({ user: entering, secondFactor: matched.factor! })
}

/** Whether a login is still about the same user, and in the same way. */
function isSame(one: MatchedUser, other: MatchedUser): boolean {
  return one.user.id === other.user.id && one.isLinked === other.isLinked
}

/** The account, if linking it is the first proof of its mailbox and so claims it. */
async function accountToClaim(deps: Deps, { user, isLinked }: MatchedUser): Promise<ClaimableAccount | undefined> {
  return isLinked ? undefined : findClaimable(deps, user)
}
