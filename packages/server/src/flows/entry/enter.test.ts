import { expect, test } from 'vitest'
import type { z } from 'zod'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { TokenAnswer, tokenAnswer } from '../../lib/records.ts'
import { proofForNewUser, type SecondFactorProof } from '../../resources/second-factors/pass-second-factor.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { enter } from './enter.ts'

/** Never called. Only the compiler checks it. */
async function refused(
  deps: Deps<Tx>,
  actor: Actor,
  user: PooledUser,
  proof: SecondFactorProof,
  made: z.input<typeof tokenAnswer>,
): Promise<TokenAnswer> {
  const request = { user, app: null, overrides: {}, authMethod: 'carrier_pigeon', counted: undefined }
  // @ts-expect-error the second factor is forgotten
  await enter(deps, request, actor)
  // @ts-expect-error nobody has proven it
  await enter(deps, { ...request, secondFactor: { userId: user.id } }, actor)
  const { counted: _, ...unattempted } = request
  // @ts-expect-error the attempt is left as it is
  await enter(deps, { ...unattempted, secondFactor: proof }, actor)
  // @ts-expect-error a user who was there before may have one
  proofForNewUser(user)
  // @ts-expect-error tokens that were not issued
  return made
}

test('a way in that forgets the second factor or its attempt, or answers with tokens of its own making, does not compile', () => {
  expect(refused).toBeTypeOf('function')
})
