import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { ProofState } from '../../lib/audit-proof.ts'
import { AuditCheckpoint } from '../../models/audit-checkpoint.ts'

/** A place in the chain: that of a sealed event, or position 0 without a seal before the first one. */
export interface Place {
  position: number
  seal: string
}

/** The values that the signature of a checkpoint covers. */
export function checkpointFacts({ seal_position, seal }: { seal_position: number; seal: string }) {
  return ['checkpoint', seal_position, seal]
}

/**
 * The recorded beginning of the chain: the last event that retention deleted. Rely on it only if its state is `whole`: anyone who
 * can write to the database can record another. `isCurrent`: it is signed with the current key.
 */
export async function readBeginning({ db, auditProofs }: Deps): Promise<Place & { state: ProofState; isCurrent: boolean }> {
  const checkpoint = await AuditCheckpoint.findLast(db)
  if (!checkpoint) return { position: 0, seal: '', state: 'whole', isCurrent: true }
  const { seal_position: position, seal, signature } = checkpoint
  const state = auditProofs.checkSignature(signature, checkpointFacts(checkpoint))
  return { position, seal, state, isCurrent: signature.startsWith(`${auditProofs.current.id}.`) }
}

/**
 * Signs the recorded beginning with the current key, so that an attacker who has a replaced key cannot move it. Returns false if
 * the service did not record it.
 */
export async function signBeginning(deps: Deps<Tx>): Promise<boolean> {
  const { state, isCurrent, ...beginning } = await readBeginning(deps)
  if (state === 'whole' && !isCurrent) await recordBeginning(deps, beginning)
  return state === 'whole'
}

/** Records, with the current key, where the chain begins. */
export async function recordBeginning({ db, auditProofs, clock }: Deps<Tx>, { position, seal }: Place): Promise<void> {
  const facts = { seal_position: position, seal }
  await AuditCheckpoint.set(db, { ...facts, signature: auditProofs.sign(checkpointFacts(facts)), created_at: clock() })
}
