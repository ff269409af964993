import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type AccountRecord, verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { only } from '../../lib/only.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import { removeIdentities } from '../identities/remove-identity.ts'
import { removeSentInvitations } from '../invitations/remove-sent-invitations.ts'
import { addNotice } from '../mail/add-notice.ts'
import { dropMailTokens } from '../mail/drop-login-tokens.ts'
import { lockOrganizationsOf, removeMemberships } from '../organizations/remove-memberships.ts'
import { announceFloor, setFloor } from '../revocations/raise-token-version.ts'
import { proofByRemoval, type SecondFactorProof } from '../second-factors/pass-second-factor.ts'
import type { ClaimableAccount, PooledUser } from '../users/present.ts'

/** An account to claim, and the values that replace what it loses. */
export interface AccountClaim {
  account: ClaimableAccount
  given: Partial<Pick<PooledUser, keyof AccountRecord | 'email_verified_at' | 'password_hash' | 'first_name' | 'last_name'>>
  appId: string | null
}

export interface StrippedAccount {
  /** The account afterwards. Its token version is the new floor. */
  user: PooledUser
  hasLost: boolean
}

export interface ClaimedAccount extends StrippedAccount {
  secondFactor: SecondFactorProof
}

/**
 * Gives unproven accounts to their owners: an attacker may have registered the address first and waited for them. Removes
 * everything that lets that person in or speaks for them: password, second factor, identities at providers, open mail tokens and
 * provider logins, sessions, the invitations they sent, all memberships, and the names. Grants, pool tags and global roles stay.
 * Then runs `go` in the same transaction; consumers learn of the ended sessions last. Needs the locks of the users' rows.
 */
export async function claimAccounts<T>(
  deps: Deps<Tx>,
  claims: readonly AccountClaim[],
  actor: Actor,
  go: (claimed: ClaimedAccount[]) => Promise<T>,
): Promise<T> {
  return stripEach(deps, claims, go, async (claim) => {
    const { proof, removed } = await proofByRemoval(deps, claim.account)
    const stripped = await strip(deps, claim, { twoFactor: removed, reason: 'credentials.removed' }, actor)
    return { ...stripped, secondFactor: proof }
  })
}

/**
 * Claims an account for a user who has just proven that the mailbox is theirs, which verifies the address. Mails them a notice if
 * the account lost anything.
 */
export async function claimByMailbox<T>(
  deps: Deps<Tx>,
  { account, appId, actor }: { account: ClaimableAccount; appId: string; actor: Actor },
  go: (claimed: ClaimedAccount) => Promise<T>,
): Promise<T> {
  const claim = { account, appId, given: verifiedNow(deps.clock(), account) }
  return claimAccounts(deps, [claim], actor, async (claimedAccounts) => {
    const claimed = only(claimedAccounts)
    const { user, hasLost } = claimed
    await recordEvent(deps, { event: 'email.verified', actor, userId: user.id, appId })
    if (hasLost) await addNotice(deps, 'credentials_removed', { user, appId }, actor)
    return go(claimed)
  })
}

/** Like `claimAccounts`, for a password reset: the second factor stays, since a reset must not bypass it. */
export async function stripForReset<T>(
  deps: Deps<Tx>,
  claim: AccountClaim,
  actor: Actor,
  go: (stripped: StrippedAccount) => Promise<T>,
): Promise<T> {
  const stripOne = (each: AccountClaim) => strip(deps, each, { twoFactor: false, reason: 'password.reset' }, actor)
  return stripEach(deps, [claim], (stripped) => go(only(stripped)), stripOne)
}

async function stripEach<T, S extends StrippedAccount>(
  deps: Deps<Tx>,
  claims: readonly AccountClaim[],
  go: (stripped: S[]) => Promise<T>,
  stripOne: (claim: AccountClaim) => Promise<S>,
): Promise<T> {
  await lockOrganizationsOf(
    deps,
    claims.map(({ account }) => account.id),
  )
  const stripped: S[] = []
  for (const claim of claims) stripped.push(await stripOne(claim))
  const result = await go(stripped)
  for (const { user } of stripped) await announceFloor(deps, user.id, user.min_token_version)
  return result
}

async function strip(
  deps: Deps<Tx>,
  { account, given, appId }: AccountClaim,
  { twoFactor, reason }: { twoFactor: boolean; reason: string },
  actor: Actor,
): Promise<StrippedAccount> {
  const { id } = account
  const columns = {
    ...{ password_hash: null, first_name: null, last_name: null },
    ...given,
    updated_at: deps.clock(),
  }
  await User.update(deps.db, id, columns)
  const lost = {
    password: account.password_hash !== null,
    two_factor: twoFactor,
    identities: await removeIdentities(deps, id),
    memberships: await removeMemberships(deps, id, actor),
    invitations: await removeSentInvitations(deps, id, actor),
    names: account.first_name !== null || account.last_name !== null,
  }
  await dropMailTokens(deps, id)
  const hasLost = Object.values(lost).some((what) => what !== false && what !== 0)
  if (hasLost) await recordEvent(deps, { event: 'credentials.removed', actor, userId: id, appId, details: lost })
  const floor = await setFloor(deps, { userId: id, appId: null, reason })
  const { updated_at: _, ...now } = columns
  return { user: { ...account, ...now, token_version: floor, min_token_version: floor }, hasLost }
}
