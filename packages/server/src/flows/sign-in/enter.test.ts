import { expect, test } from 'vitest'
import type { z } from 'zod'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import type { HalfProof, KeptProof, Proof } from '../../lib/proof.ts'
import type { TokenAnswer, tokenAnswer } from '../../lib/records.ts'
import type { SsoLoginRow } from '../../models/sso-login.ts'
import type { StrippedAccount } from '../../resources/account-claims/claim-accounts.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { enter } from './enter.ts'
import { proofOfClaimed, proofOfNewcomer } from './prove.ts'

interface Given {
  actor: Actor
  user: PooledUser
  proof: Proof
  half: HalfProof<PooledUser>
  kept: KeptProof<SsoLoginRow>
  stripped: StrippedAccount
  made: z.input<typeof tokenAnswer>
}

/** Never called. Only the compiler checks it. */
async function refused(deps: Deps<Tx>, { actor, user, proof, half, kept, stripped, made }: Given): Promise<TokenAnswer> {
  const request = { user, app: null, client: undefined, overrides: {}, counted: undefined }
  // @ts-expect-error a session without a proof
  await enter(deps, request, actor)
  // @ts-expect-error half a proof, whose second factor nobody has shown
  await enter(deps, { ...request, proof: half }, actor)
  // @ts-expect-error a proof that nobody has made
  await enter(deps, { ...request, proof: { ...proof, method: 'carrier_pigeon' } as Omit<Proof, symbol> }, actor)
  // @ts-expect-error a kept proof, whose user nobody has looked up
  await enter(deps, { ...request, proof: kept }, actor)
  const { counted: _, ...unattempted } = request
  // @ts-expect-error the attempt is left as it is
  await enter(deps, { ...unattempted, proof }, actor)
  const { client: _client, ...anonymous } = request
  // @ts-expect-error nobody says whether the app has authenticated
  await enter(deps, { ...anonymous, proof }, actor)
  // @ts-expect-error a kept proof used as a caller
  const keptCaller: UserCaller = kept
  // @ts-expect-error a proof used as a caller
  const provenCaller: UserCaller = proof
  // @ts-expect-error half a proof used as a caller
  const halfCaller: UserCaller = half
  // @ts-expect-error a user who was there before may have a second factor
  proofOfNewcomer(user, 'password')
  // @ts-expect-error an account that keeps its second factor
  proofOfClaimed(deps, stripped, 'magic_link')
  // @ts-expect-error the gate believes only what this transaction has created
  await enter(deps, { ...request, proof, newcomer: { made: user, isGranted: true } }, { ...actor, caller: keptCaller })
  // @ts-expect-error tokens that were not issued
  return [made, provenCaller, halfCaller][0]
}

test('entering with no proof, half a proof, no client or tokens that were not issued does not compile', () => {
  expect(refused).toBeTypeOf('function')
})
