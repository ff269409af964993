import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { Position, type ProofState } from '../../lib/audit-proof.ts'
import { recordIn } from '../../lib/collections.ts'
import { firstSnapshot, parseSnapshot, type Snapshot, sees } from '../../lib/feed-cursors.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditCheckpoint, type Checkpoint } from '../../models/audit-checkpoint.ts'
import { AuditEvent, type EventContent, type Place, type SealableEvent } from '../../models/audit-event.ts'

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

interface SealedKeys {
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

/** How long after the upgrade new rows without a proof are accepted: servers of the first version may still write some. */
const adoptionMs = 60 * 60 * 1_000
/** How far new positions are above those of a restored database, which may have rows that are not sealed. */
const shiftMargin = 2 ** 20

/** A chain that this version has taken over. */
export type OwnChain = Chain & { upto: string; former_checked: number }

/**
 * Locks and returns the end of the seals. Begins them if there are none, takes over those of a former version, and stores the
 * current key if it is new. Throws if the end is forged or gone.
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
async function beginChain(deps: Deps<Tx>): Promise<Chain | undefined> {
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
  const proven = () => AuditEvent.query(db).whereNotNull('mac').first().select('id')
  const batch = () => AuditBatch.query(db).where('number', '>', 0).first()
  return (await proven()) !== undefined || (await AuditEvent.hasChained(db)) || (await batch()) !== undefined
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
async function raisePositions(deps: Deps<Tx>): Promise<void> {
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

/** The end of a batch, a row of the former chain, or position 0 without a seal before the first one. */
export interface SealPlace {
  position: number
  seal: string
}

/** Where the seals begin. `batch` and `upto` are null while rows of the former chain are left. */
export interface Beginning extends SealPlace {
  batch: number | null
  upto: string | null
}

/** The values that the signature of a checkpoint covers. */
export function checkpointFacts({ seal_position, seal, batch, upto }: Omit<Checkpoint, 'signature' | 'created_at'>) {
  return ['checkpoint', seal_position, seal, ...(batch === null ? [] : [batch, upto])]
}

/**
 * The recorded beginning of the seals: the last batch or event that retention deleted. Rely on it only if its state is `whole`:
 * anyone who can write to the database can record another. `isCurrent`: it is signed with the current key.
 */
export async function readBeginning({ db, auditProofs }: Deps): Promise<Beginning & { state: ProofState; isCurrent: boolean }> {
  const checkpoint = await AuditCheckpoint.query(db).orderBy('seal_position', 'desc').first()
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
  await AuditCheckpoint.query(db).delete()
  await AuditCheckpoint.insert(db, { ...facts, signature: auditProofs.sign(checkpointFacts(facts)), created_at: clock() })
}

/** Rows that are in memory at once: a megabyte. */
const portion = 1_000
/** As many of what the digest of a batch needs. */
const contentsPortion = 4_000

/** The rows that `from` does not see and `upto` does, in order, in portions. With `after`, only those after a row. */
export function rowsBetween({ db }: Deps, from: Snapshot, upto: Snapshot, after?: Place): AsyncGenerator<SealableEvent[], void> {
  return portionsOf(upto, after, portion, (after, limit) => AuditEvent.listUnseen(db, from, { after, below: upto.xmax, limit }))
}

/** The same rows, only with what the digest of a batch and its seal need. */
export function contentsBetween({ db }: Deps, from: Snapshot, upto: Snapshot): AsyncGenerator<EventContent[], void> {
  return portionsOf(upto, undefined, contentsPortion, (after, limit) =>
    AuditEvent.listContents(db, from, { after, below: upto.xmax, limit }),
  )
}

async function* portionsOf<Row extends Place>(
  upto: Snapshot,
  after: Place | undefined,
  limit: number,
  list: (after: Place | undefined, limit: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void, undefined> {
  const read = (after: Place | undefined) => {
    const rows = list(after, limit)
    // Nobody waits for it if the reader stops early.
    rows.catch(() => {})
    return rows
  }
  for (let next: Promise<Row[]> | undefined = read(after); next; ) {
    const rows: Row[] = await next
    // Postgres reads the next ones while these are compared.
    next = rows.length === limit ? read(rows.at(-1)) : undefined
    yield rows.filter(({ xid }) => sees(upto, xid))
  }
}

/** An end of the seals. `batch` is the number of the last batch, 0 if it is a row of the former chain. */
export interface End extends SealPlace {
  batch: number
}

/**
 * Whether an end that was seen before is still part of the seals: the batch is there with this seal, or retention deleted it.
 * `now` is the end now, whose signature was checked.
 */
export async function isInChain(
  deps: Deps,
  { position, seal, batch }: End,
  now: Pick<End, 'position' | 'batch'>,
): Promise<boolean> {
  if (now.position < position || now.batch < batch) return false
  if (await hasSeal(deps, { position, seal, batch })) return true
  const beginning = await readBeginning(deps)
  if (beginning.state !== 'whole') return false
  return beginning.position === position ? beginning.seal === seal : beginning.position > position
}

async function hasSeal({ db }: Deps, { position, seal, batch }: End): Promise<boolean> {
  if (batch > 0) return (await AuditBatch.find(db, { number: batch }))?.seal === seal
  const [row] = await AuditEvent.listChained(db, { from: position, limit: 1 })
  return row?.seal_position === position && row.seal === seal && row.xid === Position.former
}

/**
 * Whether the key that seals the audit of this database is configured. The first server or command that asks decides the key of a
 * new database, before it writes anything: of several that start at once with different keys, one begins the seals. From then on,
 * servers that lack the key seal nothing, so they do not take events of those that have it for forged.
 */
export async function hasKeyOfAudit(deps: Deps<Pool>): Promise<boolean> {
  const chain = (await AuditChain.findOnly(deps.db)) ?? (await transaction(deps, beginChain))
  const verdict = chain ? checkHead(deps, chain) : 'whole'
  // A forged end does not keep the service from starting: the sealer and audit verify report it.
  if (chain && verdict === 'whole') await transaction(deps, raisePositions)
  return verdict !== 'unknown key'
}
