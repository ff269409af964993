import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { StoredEvent } from '../../lib/audit-proof.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { headFacts, keysOfChain, type SealedKeys } from './keys-of-chain.ts'
import { signBeginning } from './read-beginning.ts'

const batchSize = 500
/** How long after the upgrade rows without a proof are accepted: servers of the previous version may still write some. */
const adoptionMs = 60 * 60 * 1_000
/** A counting row stays open for the rest of its minute, plus some seconds because the clocks of servers differ. */
const countingMs = 70_000

/**
 * The end of the chain, and how many records are not what was written: unsealed rows, which were skipped, and the beginning of
 * the chain.
 */
export interface Sealed {
  position: number
  seal: string
  sealed: number
  refused: number
}

interface Batch extends Sealed {
  last: string | undefined
}

/**
 * Seals the events that have no seal yet. Several servers may run it at once: they wait for one another. Throws if the end of the
 * chain is forged or gone.
 */
export async function sealEvents(deps: Deps<Pool>, isStopping: () => boolean = () => false): Promise<Sealed> {
  let total: Batch = { position: 0, seal: '', sealed: 0, refused: 0, last: undefined }
  do {
    const { sealed, refused, last: after } = total
    const batch = await transaction(deps, (deps) => sealBatch(deps, after))
    total = { ...batch, sealed: sealed + batch.sealed, refused: refused + batch.refused }
    // SQLite answers within the same turn of the event loop, so a long log after an upgrade would hold up everything else.
    await nextTurn()
  } while (total.last !== undefined && !isStopping())
  return total
}

async function sealBatch(deps: Deps<Tx>, after: string | undefined): Promise<Batch> {
  const now = deps.clock()
  const chain = await lockChain(deps)
  // Counted once, in the first batch.
  const refusedBeginnings = (await signBeginning(deps)) || after !== undefined ? 0 : 1
  const rows = await AuditEvent.listUnsealedForUpdate(deps.db, { countedBefore: now - countingMs, after, limit: batchSize })
  const last = rows.length === batchSize ? rows.at(-1)?.id : undefined
  const whole = rows.map((row) => sealable(deps, row, chain, now)).filter((row) => row !== undefined)
  let { position, seal } = chain
  const sealed = whole.map((row) => {
    position += 1
    seal = deps.auditProofs.seal(seal, row.mac, position)
    return { ...row, seal_position: position, seal }
  })
  const end = { position, seal, last, sealed: sealed.length, refused: rows.length - sealed.length + refusedBeginnings }
  if (sealed.length === 0) return end
  await AuditEvent.rewrite(deps.db, sealed, ['salt', 'personal_digest', 'mac', 'seal_position', 'seal'])
  const head = { ...chain, position, seal }
  await AuditChain.set(deps.db, { position, seal, sealed_at: now, signature: deps.auditProofs.sign(headFacts(head)) })
  return end
}

/** Returns the row with the proof that goes into its seal, or undefined if the row is not what was written. */
function sealable(
  { auditProofs }: Deps,
  row: StoredEvent,
  chain: Chain,
  now: number,
): (StoredEvent & { mac: string }) | undefined {
  const verdict = auditProofs.check(row)
  const isAdopted = verdict === 'unproven' && now < chain.adopts_until
  if (verdict !== 'whole' && !isAdopted) return undefined
  const proof = isAdopted ? auditProofs.adopt(row) : row.counted_by === null ? row : auditProofs.proveCounted(row)
  const { salt, personal_digest, mac } = proof
  return mac === null ? undefined : { ...row, salt, personal_digest, mac }
}

/** Locks and returns the end of the chain. Begins the chain if there is none, and stores the current key if it is new. */
async function lockChain(deps: Deps<Tx>): Promise<Chain> {
  const { auditProofs, db } = deps
  const chain = (await AuditChain.findForUpdate(db)) ?? (await beginChain(deps))
  if (!chain) throw new Error('the end of the audit chain is gone; run audit verify for details')
  const keys = keysOfChain(deps, chain)
  const verdict = auditProofs.checkSignature(chain.signature, headFacts(chain))
  if (verdict === 'unknown key') throw new Error('the end of the audit chain is signed with a key that is not configured')
  if (verdict !== 'whole') throw new Error('the end of the audit chain is not what was written; run audit verify for details')
  const { id } = auditProofs.current
  if (keys.boxes[id] === undefined || !chain.signature.startsWith(`${id}.`)) await takeKey(deps, chain, keys)
  return chain
}

/** Begins the chain with the current key, unless another server has done so. Undefined if its end is gone. */
export async function beginChain({ auditProofs, db, clock }: Deps<Tx>): Promise<Chain | undefined> {
  const hasSealed = await AuditEvent.hasSealed(db)
  // Another server may have begun the chain and sealed events since the chain was looked for.
  const begunMeanwhile = await AuditChain.findForUpdate(db)
  if (begunMeanwhile) return begunMeanwhile
  if (hasSealed) return undefined
  const now = clock()
  const adoptsUntil = (await AuditEvent.hasUnproven(db)) ? now + adoptionMs : now
  const begun = { position: 0, seal: '', began_at: now, adopts_until: adoptsUntil, keys: '{}', sealed_at: now, signature: '' }
  await AuditChain.begin(db, { ...begun, signature: auditProofs.sign(headFacts(begun)) })
  const chain = await AuditChain.findForUpdate(db)
  if (!chain) throw new Error('the audit chain cannot be started')
  return chain
}

/**
 * Stores a new key. Sealed events remain provable after the replaced key has left the configuration. The end of the chain is
 * signed again, so an attacker who has the old key cannot move it.
 */
async function takeKey(deps: Deps<Tx>, chain: Chain, kept: SealedKeys): Promise<void> {
  const { secretBox, auditProofs } = deps
  const { id, bytes } = auditProofs.current
  const all = new Map([...kept.opened, ...auditProofs.all(), [id, bytes] as const])
  const boxes = Object.fromEntries(
    [...all].map(([id, key]) => [id, secretBox.seal(key.toString('base64url'), `audit-key:${id}`)]),
  )
  // Keep the boxes that cannot be opened: the key that opens them may come back.
  const keys = JSON.stringify({ ...kept.boxes, ...boxes })
  await AuditChain.set(deps.db, { keys, signature: auditProofs.sign(headFacts(chain)) })
}
