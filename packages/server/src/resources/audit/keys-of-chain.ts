import type { Deps } from '../../deps.ts'
import type { ProofState } from '../../lib/audit-proof.ts'
import { recordIn } from '../../lib/collections.ts'
import { firstSnapshot, parseSnapshot, type Snapshot } from '../../lib/feed-cursors.ts'
import type { Chain } from '../../models/audit-chain.ts'

/** The values that the signature of the end of the seals covers. */
export function headFacts(chain: Omit<Chain, 'signature' | 'keys' | 'sealed_at'>) {
  const { position, seal, began_at, adopts_until, batch, batch_position, batch_seal, upto, shift, former_end, former_closed } =
    chain
  const { former_checked, former_faults } = chain
  // A server of a former version finds the signature wrong, and seals nothing.
  const batches = upto === null ? [] : [batch, batch_position, batch_seal, upto, shift, former_end, former_closed]
  const former = former_checked === null ? [] : [former_checked, former_faults]
  return [upto === null ? 'head' : 'end', position, seal, began_at, adopts_until, ...batches, ...former]
}

export function checkHead({ auditProofs }: Deps, chain: Chain): ProofState {
  return auditProofs.checkSignature(chain.signature, headFacts(chain))
}

/** Which rows are in batches. */
export function sealedBy(chain: Chain | undefined): Snapshot {
  return parseSnapshot(chain?.upto ?? firstSnapshot)
}

export interface SealedKeys {
  boxes: Readonly<Record<string, string>>
  opened: ReadonlyMap<string, Buffer>
}

/** Opens the proof keys that the chain stores. From then on, proofs made with the keys that open are accepted. */
export function keysOfChain({ secretBox, auditProofs }: Deps, { keys }: Pick<Chain, 'keys'>): SealedKeys {
  const boxes = boxesOf({ keys })
  const opened = new Map<string, Buffer>()
  for (const [id, box] of Object.entries(boxes)) {
    const bytes = keyIn(secretBox, id, box)
    if (!bytes) continue
    auditProofs.learn(bytes)
    opened.set(id, bytes)
  }
  return { boxes, opened }
}

/**
 * Returns undefined if the box was changed, or sealed under a key that is not configured. Proofs made with its key are then
 * unknown.
 */
function keyIn(secretBox: Deps['secretBox'], id: string, box: string): Buffer | undefined {
  try {
    return Buffer.from(secretBox.open(box, `audit-key:${id}`), 'base64url')
  } catch {
    return undefined
  }
}

/** The sealed keys, by key id. */
export function boxesOf({ keys }: Pick<Chain, 'keys'>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(recordIn(keys)).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}
