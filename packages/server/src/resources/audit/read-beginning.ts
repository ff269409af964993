import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { ProofState } from '../../lib/audit-proof.ts'
import { AuditCheckpoint, type Checkpoint } from '../../models/audit-checkpoint.ts'

/** The end of a batch, a row of the former chain, or position 0 without a seal before the first one. */
export interface Place {
  position: number
  seal: string
}

/** Where the seals begin. `batch` and `upto` are null while rows of the former chain are left. */
export interface Beginning extends Place {
  batch: number | null
  upto: string | null
}

/** The values that the signature of a checkpoint covers. */
export function checkpointFacts({ seal_position, seal, batch, upto }: Omit<Checkpoint, 'signature' | 'created_at'>) {
  return ['checkpoint', seal_position, seal, ...(batch === null ? [] : [batch, upto])]
}

/**
 * The recorded beginning of the seals: the last batch or event that retention deleted. Rely on it only if its state is `whole`: anyone who
 * can write to the database can record another. `isCurrent`: it is signed with the current key.
 */
export async function readBeginning({ db, auditProofs }: Deps): Promise<Beginning & { state: ProofState; isCurrent: boolean }> {
  const checkpoint = await AuditCheckpoint.findLast(db)
  if (!checkpoint) return { position: 0, seal: '', batch: null, upto: null, state: 'whole', isCurrent: true }
  const { seal_position: position, seal, batch, upto, signature } = checkpoint
  const state = auditProofs.checkSignature(signature, checkpointFacts(checkpoint))
  return { position, seal, batch, upto, state, isCurrent: String(signature).startsWith(`${auditProofs.current.id}.`) }
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

/** Records, with the current key, where the seals begin. */
export async function recordBeginning(
  { db, auditProofs, clock }: Deps<Tx>,
  { position, seal, batch, upto }: Beginning,
): Promise<void> {
  const facts = { seal_position: position, seal, batch, upto }
  await AuditCheckpoint.set(db, { ...facts, signature: auditProofs.sign(checkpointFacts(facts)), created_at: clock() })
}
