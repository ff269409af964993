import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor, OwnCaller } from '../../lib/caller.ts'
import { proofFields } from '../../lib/fields.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { removeOwnIdentity } from '../../resources/identities/identities.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'

export const unlinkBody = z.strictObject(proofFields).meta({ id: 'UnlinkIdentity' })
type UnlinkInput = z.output<typeof unlinkBody> & { identityId: string }

/** Unlinks one of the caller's own identities. Throws what `requireFreshProof` and `removeOwnIdentity` throw. */
export async function unlinkIdentity(deps: Deps<Pool>, input: UnlinkInput, caller: OwnCaller, actor: Actor): Promise<void> {
  const factor = await SecondFactor.findActive(deps.db, caller.userId)
  await requireFreshProof(deps, { caller, factor, password: input.password, code: input.two_factor_code }, actor)
  await removeOwnIdentity(deps, caller, input.identityId, actor)
}
