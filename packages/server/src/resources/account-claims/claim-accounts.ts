import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type AccountRecord, asClaimable, verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { only } from '../../lib/collections.ts'
import { Passkey } from '../../models/passkey.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import { removeIdentities } from '../identities/identities.ts'
import { removeSentInvitations } from '../invitations/invitations.ts'
import { dropMailTokens } from '../mail/mail-tokens.ts'
import { addNotice } from '../mail/request-mail.ts'
import { lockOrganizationsOf, removeMemberships } from '../organizations/members.ts'
import { endAllTokens } from '../revocations/end-tokens.ts'
import { clearSecondFactor } from '../second-factors/second-factors.ts'
import { BASE_ROLE, listGlobalRoles } from '../users/administration.ts'
import type { ClaimableAccount, PooledUser } from '../users/present.ts'

/** An account to claim, and the values that replace what it loses. */
export interface AccountClaim {
  account: ClaimableAccount
  given: Partial<Pick<PooledUser, keyof AccountRecord | 'email_verified_at' | 'password_hash' | 'first_name' | 'last_name'>>
  appId: string | null
}

export interface StrippedAccount {
  /** The account afterwards. Its token version is the new minimum. */
  user: PooledUser
  hasLost: boolean
}

/** An account without anything that let somebody in before. */
export interface ClaimedAccount extends StrippedAccount {
  hasSecondFactor: false
}

/**
 * Gives unproven accounts to their owners: an attacker may have registered the address first and waited for them. Removes
 * everything that lets that person in or speaks for them: password, second factor, passkeys, identities at providers, open mail
 * tokens and provider logins, sessions, the invitations they sent, all memberships, the names and the locale. Grants, pool tags and
 * global roles stay. Needs the locks of the users' rows.
 */
export async function claimAccounts(deps: Deps<Tx>, claims: readonly AccountClaim[], actor: Actor): Promise<ClaimedAccount[]> {
  await lockOrganizationsOf(
    deps,
    claims.map(({ account }) => account.id),
  )
  const claimed: ClaimedAccount[] = []
  for (const claim of claims) {
    // Its owner is unknown.
    const twoFactor = await clearSecondFactor(deps, claim.account.id)
    const stripped = await strip(deps, claim, { twoFactor, reason: 'credentials.removed' }, actor)
    claimed.push({ ...stripped, hasSecondFactor: false })
  }
  return claimed
}

/**
 * Takes over an account for a user who has just proven that the mailbox is theirs, which verifies the address. Mails them a notice
 * if the account lost anything.
 */
export async function claimByMailbox(
  deps: Deps<Tx>,
  { account, appId, actor }: { account: ClaimableAccount; appId: string; actor: Actor },
): Promise<ClaimedAccount> {
  const claim = { account, appId, given: verifiedNow(deps.clock(), account) }
  const claimed = only(await claimAccounts(deps, [claim], actor))
  const { user, hasLost } = claimed
  await recordEvent(deps, { event: 'email.verified', actor, userId: user.id, appId })
  if (hasLost) await addNotice(deps, 'credentials_removed', { user, appId }, actor)
  return claimed
}

/** Like `claimAccounts`, for a password reset: the second factor stays, since a reset must not bypass it. */
export async function stripForReset(deps: Deps<Tx>, claim: AccountClaim, actor: Actor): Promise<StrippedAccount> {
  await lockOrganizationsOf(deps, [claim.account.id])
  return strip(deps, claim, { twoFactor: false, reason: 'password.reset' }, actor)
}

async function strip(
  deps: Deps<Tx>,
  { account, given, appId }: AccountClaim,
  { twoFactor, reason }: { twoFactor: boolean; reason: string },
  actor: Actor,
): Promise<StrippedAccount> {
  const { id } = account
  const columns = {
    ...{ password_hash: null, first_name: null, last_name: null, locale: null },
    ...given,
    updated_at: deps.clock(),
  }
  await User.change(deps.db, id, columns)
  const lost = {
    password: account.password_hash !== null,
    two_factor: twoFactor,
    passkeys: await Passkey.remove(deps.db, { user_id: id }),
    identities: await removeIdentities(deps, id),
    memberships: await removeMemberships(deps, id, actor),
    invitations: await removeSentInvitations(deps, id, actor),
    names: account.first_name !== null || account.last_name !== null,
  }
  await dropMailTokens(deps, id)
  const hasLost = Object.values(lost).some((what) => what !== false && what !== 0)
  if (hasLost) await recordEvent(deps, { event: 'credentials.removed', actor, userId: id, appId, details: lost })
  const floor = await endAllTokens(deps, { userId: id, reason })
  const { updated_at: _, ...now } = columns
  return { user: { ...account, ...now, token_version: floor, min_token_version: floor }, hasLost }
}

/**
 * Returns the account if the first proof of its mailbox claims it: it is unproven and has no global role but `base_user`. An
 * admin who gave an unproven account another role knew whose it was, so that account keeps what it has. The answer is binding
 * only under the lock of the user's row.
 */
export async function findClaimable(deps: Deps, user: PooledUser): Promise<ClaimableAccount | undefined> {
  const account = asClaimable(user)
  if (!account) return undefined
  const roles = await listGlobalRoles(deps, account.id)
  return roles.every((role) => role === BASE_ROLE) ? account : undefined
}
