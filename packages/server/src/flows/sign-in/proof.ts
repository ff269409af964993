import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { HalfProof, Proof, ShownFactor } from '../../lib/proof.ts'
import type { SpentCode } from '../../models/authorization-code.ts'
import { type FactorRow, SecondFactor } from '../../models/second-factor.ts'
import type { ClaimedAccount } from '../../resources/account-claims/claim-accounts.ts'
import type { NewAccount } from '../../resources/users/insert-user.ts'
import { checkSecondFactor, type SecondFactorOwner } from './second-factor.ts'

/** The first factor of a user, which the caller has just checked: a password, a link in a mail or the word of a provider. */
export function firstFactor<U extends ProvenUser>(deps: Deps, user: U, method: string): HalfProof<U> {
  return { user, method, firstProvenAt: deps.clock() }
}

interface ProvenUser extends SecondFactorOwner {
  token_version: number
  min_token_version: number
}

/**
 * Completes a proof: checks the code of the second factor, if the user has one and the browser is not trusted. Throws what `checkSecondFactor` throws.
 *
 *     const proof = await passSecondFactor(deps, firstFactor(deps, user, 'password'), input.two_factor_code, actor)
 */
export async function passSecondFactor(
  deps: Deps<Pool>,
  { user, method, firstProvenAt, trust }: HalfProof<ProvenUser>,
  code: string | undefined,
  actor: Actor,
): Promise<Proof> {
  const factor = user.factor === undefined ? await SecondFactor.findActive(deps.db, user.id) : user.factor
  const second =
    (code === undefined ? secondOf(trust, user, factor) : undefined) ??
    (await checkSecondFactor(deps, { ...user, factor: factor ?? null }, code, actor))
  return proof({ userId: user.id, method, firstProvenAt, signedInAt: deps.clock(), second, version: user.token_version })
}

/** What a trusted browser stands for, unless the trust is another user's or anything has changed since. */
function secondOf(
  trust: HalfProof<unknown>['trust'],
  user: ProvenUser,
  factor: FactorRow | null | undefined,
): ShownFactor | undefined {
  if (!trust || !factor || trust.user_id !== user.id) return undefined
  const { proven_at: provenAt, factor_activated_at: activatedAt, version } = trust
  if (activatedAt !== (factor.activated_at ?? 0) || version < user.min_token_version) return undefined
  return { provenAt, activatedAt, isTrusted: true }
}

/** The first factor that was shown in an earlier step, whose ticket was just opened. `user` is as it is now. */
export function firstFactorOf<U extends SecondFactorOwner & { min_token_version: number }>(
  { userId, version, method, firstProvenAt }: { userId: string; version: number; method: string; firstProvenAt: number },
  user: U,
): HalfProof<U & ProvenUser> {
  if (user.id !== userId) throw new Error('another user was proven')
  return { user: { ...user, token_version: version }, method, firstProvenAt }
}

/** For a user whom this transaction creates and who has no second factor yet. */
export function proofOfNewcomer(user: NewAccount, method: string): Proof {
  const { created_at: now } = user
  return proof({ userId: user.id, method, firstProvenAt: now, signedInAt: now, second: null, version: user.token_version })
}

/** For a claimed account: its second factor, whose owner was unknown, has been removed. */
export function proofOfClaimed(deps: Deps, { user }: ClaimedAccount, method: string): Proof {
  const now = deps.clock()
  return proof({ userId: user.id, method, firstProvenAt: now, signedInAt: now, second: null, version: user.token_version })
}

/**
 * For a user whose passkey has just signed, after the device had verified the person. It stands in for the second factor that is
 * active now; one that is activated later has to be shown.
 */
export function proofOfPasskey(deps: Deps, user: ProvenUser, factorActivatedAt: number | null): Proof {
  const now = deps.clock()
  const second = { provenAt: now, activatedAt: factorActivatedAt }
  return proof({ userId: user.id, method: 'passkey', firstProvenAt: now, signedInAt: now, second, version: user.token_version })
}

/** For a proof that a code has kept. Only the model that has just spent the code hands one out. */
export function proofOfCode(code: SpentCode): Proof {
  const { second_proven_at: provenAt, second_activated_at: activatedAt } = code
  const second = provenAt === null ? null : { provenAt, activatedAt, isTrusted: code.second_factor === 'trusted' }
  return proof({
    userId: code.user_id,
    method: code.first_factor,
    firstProvenAt: code.first_proven_at,
    signedInAt: code.signed_in_at ?? code.created_at,
    second,
    version: code.version,
  })
}

function proof(shown: Omit<Proof, symbol>): Proof {
  return shown as Proof
}
