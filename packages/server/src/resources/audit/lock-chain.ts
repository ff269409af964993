import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { checkHead, headFacts, keysOfChain, type SealedKeys } from './keys-of-chain.ts'

/** How long after the upgrade new rows without a proof are accepted: servers of the first version may still write some. */
const adoptionMs = 60 * 60 * 1_000
/** How far new positions are above those of a restored database, which may have rows that are not sealed. */
const shiftMargin = 2 ** 20

/** A chain that this version has taken over. */
export type OwnChain = Chain & { upto: string; former_checked: number }

/**
 * Locks and returns the end of the seals. Begins them if there are none, takes over those of a former version, and stores the current
 * key if it is new. Throws if the end is forged or gone.
 */
export async function lockChain(deps: Deps<Tx>): Promise<OwnChain> {
  const { auditProofs, db } = deps
  const chain = (await AuditChain.findForUpdate(db)) ?? (await beginChain(deps))
  if (!chain) throw new Error('the end of the audit chain is gone; run audit verify for details')
  const keys = keysOfChain(deps, chain)
  const verdict = checkHead(deps, chain)
  if (verdict === 'unknown key') throw new Error('the end of the audit chain is signed with a key that is not configured')
  if (verdict !== 'whole') throw new Error('the end of the audit chain is not what was written; run audit verify for details')
  const { id } = auditProofs.current
  if (keys.boxes[id] === undefined || !chain.signature.startsWith(`${id}.`)) await takeKey(deps, chain, keys)
  return takeOver(deps, chain)
}

/** Begins the seals with the current key, unless another server has done so. Undefined if their end is gone. */
export async function beginChain(deps: Deps<Tx>): Promise<Chain | undefined> {
  const { auditProofs, db, clock } = deps
  const hasSealed = await hasEarlierSeals(deps)
  // Another server may have begun and sealed events since the end was looked for.
  const begunMeanwhile = await AuditChain.findForUpdate(db)
  if (begunMeanwhile) return begunMeanwhile
  if (hasSealed) return undefined
  const now = clock()
  const adoptsUntil = (await AuditEvent.hasUnproven(db)) ? now + adoptionMs : now
  const begun = {
    ...{ position: 0, seal: '', began_at: now, adopts_until: adoptsUntil, keys: '{}', sealed_at: now, signature: '' },
    ...{ batch: 0, batch_position: 0, batch_seal: '', upto: null, shift: 0, former_end: 0, former_closed: 0 },
    ...{ former_checked: null, former_faults: null },
  }
  await AuditChain.begin(db, { ...begun, signature: auditProofs.sign(headFacts(begun)) })
  const chain = await AuditChain.findForUpdate(db)
  if (!chain) throw new Error('the audit chain cannot be started')
  return takeOver(deps, chain)
}

/**
 * Whether the seals had begun. Every server and command begins them before it writes an event, so an event with a proof shows that
 * their end was removed.
 */
export async function hasEarlierSeals({ db }: Deps): Promise<boolean> {
  return (await AuditEvent.hasProven(db)) || (await AuditEvent.hasChained(db)) || (await AuditBatch.hasAfter(db, 0))
}

/**
 * Rows that are there at the first look, and that no former version has sealed, get the next places in the chain of rows, once that
 * was compared. No other row does: all others get into batches.
 */
async function takeOver(deps: Deps<Tx>, chain: Chain): Promise<OwnChain> {
  const { upto, former_checked } = chain
  if (upto !== null && former_checked !== null) return { ...chain, upto, former_checked }
  const unchecked = { ...chain, former_checked: 0 }
  // Servers of a version in between have taken it over, and did not compare it.
  if (upto !== null) return storeChain(deps, { ...unchecked, upto })
  const former = await AuditEvent.countFormer(deps.db)
  return storeChain(deps, {
    ...{ ...unchecked, upto: firstSnapshot },
    ...{ former_end: chain.position + former, former_closed: chain.position + former === 0 ? 1 : 0 },
  })
}

/** Stores what has changed, with a new signature. */
export async function storeChain({ db, auditProofs }: Deps<Tx>, chain: OwnChain): Promise<OwnChain> {
  const { keys: _, ...stored } = { ...chain, signature: auditProofs.sign(headFacts(chain)) }
  await AuditChain.set(db, stored)
  return { ...chain, signature: stored.signature }
}

/**
 * Makes sure that the next events get positions which no earlier one has. A dump restores the events, but not the transaction
 * counter of Postgres. Call it before anything is written.
 */
export async function raisePositions(deps: Deps<Tx>): Promise<void> {
  const chain = await lockChain(deps)
  const now = await AuditEvent.snapshot(deps.db, chain.shift)
  const missing = parseSnapshot(chain.upto).xmax - now.xmax
  if (missing <= 0) return
  const shift = chain.shift + missing + shiftMargin
  await AuditEvent.shiftPositions(deps.db, shift)
  await storeChain(deps, { ...chain, shift })
  deps.logger.info({ shift }, 'the audit continues above the positions of the restored database')
}

/**
 * Stores a new key. Sealed events remain provable after the replaced key has left the configuration. The end of the seals is
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
