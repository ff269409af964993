import { createHash, type Hmac, hash, hkdfSync } from 'node:crypto'
import { HmacSha256 } from './digests.ts'
import { randomText } from './random.ts'

/** Facts that may identify a person. The proof of a row covers them by a salted digest. Erasing destroys the salt. */
export interface PersonalFacts {
  audit_reason: string | null
  ip: string | null
  user_agent: string | null
  /** JSON. */
  details: string | null
  email: string | null
}

interface AuditFacts extends PersonalFacts {
  id: string
  event: string
  reason: string | null
  actor_type: 'user' | 'service_account' | 'system' | 'anonymous'
  actor_id: string | null
  user_id: string | null
  app_id: string | null
  request_id: string | null
  count: number
  counted_by: string | null
  at: number
}

export interface AuditProof {
  salt: string | null
  personal_digest: string | null
  mac: string | null
}

interface Erasure {
  erased_by: string | null
  erased_mac: string | null
}

/** A row as it is stored. */
export interface StoredEvent extends AuditFacts, AuditProof, Erasure {
  /** What decides its batch: see `Position`. */
  xid: number
  seal_position: number | null
  seal: string | null
}

/** `unproven`: the row has no proof. `unknown key`: its proof was made with a key that this server does not have. */
export type ProofState = 'whole' | 'unproven' | 'changed' | 'unknown key'

/**
 * How a row got its proof. While a row still counts (`counting`), its proof covers neither the count nor whom it is about;
 * `counted` replaces it when the row is sealed. `adopted` is for rows that existed before proofs did.
 */
type Kind = 'written' | 'counting' | 'counted' | 'adopted'
const kinds: readonly string[] = ['written', 'counting', 'counted', 'adopted'] satisfies Kind[]

const purpose = 'gatehouse-sealed-audit'

/** The values of `xid` that are no transaction. `former`: the row is older than batches. `counting`: it still counts. */
export const Position = { former: 0, counting: -1 } as const

/**
 * Proves rows of the audit log, and chains them, with keys derived from `AUTH_ENCRYPTION_KEY`. See docs/operate/sealed-audit.md.
 */
export class AuditProofs {
  /** The keys of the configuration, and those that were replaced. */
  readonly #keys = new Map<string, HmacSha256>()
  readonly #configured = new Map<string, Buffer>()
  readonly #current: { id: string; key: HmacSha256; bytes: Buffer }

  /** The first key makes new proofs. All of them are accepted. */
  constructor([current, ...previous]: readonly [Buffer, ...Buffer[]]) {
    const derive = (key: Buffer) => Buffer.from(hkdfSync('sha256', key, '', purpose, 32))
    for (const key of [current, ...previous]) {
      const bytes = derive(key)
      this.#configured.set(this.learn(bytes), bytes)
    }
    const bytes = derive(current)
    this.#current = { id: this.learn(bytes), key: new HmacSha256(bytes), bytes }
  }

  /** The key that makes new proofs. It does not reveal `AUTH_ENCRYPTION_KEY`. */
  get current(): { id: string; bytes: Buffer } {
    return this.#current
  }

  /** The keys of the configuration, by id. */
  all(): ReadonlyMap<string, Buffer> {
    return this.#configured
  }

  /** Also accepts sealed rows with a proof of this key, but proves nothing new with it. Returns its id. */
  learn(bytes: Buffer): string {
    const id = createHash('sha256').update(`${purpose}:`).update(bytes).digest('hex').slice(0, 8)
    this.#keys.set(id, new HmacSha256(bytes))
    return id
  }

  /** The proof of a new row. */
  prove(row: AuditFacts): AuditProof {
    return this.#proof(row, row.counted_by === null ? 'written' : 'counting')
  }

  /** The proof of a row that no longer counts. */
  proveCounted(row: AuditFacts): AuditProof {
    return this.#proof(row, 'counted')
  }

  /** The proof of a row that had none. */
  adopt(row: AuditFacts): AuditProof {
    return this.#proof(row, 'adopted')
  }

  /**
   * Whether the row is what was written, apart from its place. Only a key of the configuration proves a row that is not sealed,
   * since a replaced key may have been stolen.
   */
  check(row: StoredEvent, isSealed: boolean): ProofState {
    const { salt, personal_digest, mac, erased_by, erased_mac } = row
    if (mac === null)
      return salt === null && personal_digest === null && erased_by === null && erased_mac === null ? 'unproven' : 'changed'
    if (personal_digest === null) return 'changed'
    // SQLite stores bytes in a column of texts.
    const [id = '', kind = ''] = String(mac).split('.')
    const key = this.#keyOf(id, !isSealed)
    if (!key) return isKeyId(id) ? 'unknown key' : 'changed'
    if (!isKind(kind) || (kind === 'counting' && isSealed)) return 'changed'
    if (mac !== macOf(id, key, row, personal_digest, kind)) return 'changed'
    if (erased_mac === null) {
      const isSame = erased_by === null && salt !== null && personal_digest === personalDigest(key, salt, row, kind)
      return isSame ? 'whole' : 'changed'
    }
    return salt === null && this.#isOf(erased_mac, ['erased', row.id, mac, erased_by, ...personalValues(row)])
      ? 'whole'
      : 'changed'
  }

  /**
   * The proof of a row after its personal facts were erased; `row` has the rest. A row that was not whole stays so. A row that
   * counts is proven again; every other one keeps its `mac`, which a batch may hold already.
   */
  erase(row: StoredEvent, verdict: ProofState, erasedBy: string): AuditProof & Erasure {
    const { salt, personal_digest, mac, erased_by, erased_mac } = row
    if (verdict !== 'whole' || mac === null) return { salt, personal_digest, mac, erased_by, erased_mac }
    if (isCounting(row)) return { ...this.#proof(row, 'counting'), erased_by: null, erased_mac: null }
    const erased = this.sign(['erased', row.id, mac, erasedBy, ...personalValues(row)])
    return { salt: null, personal_digest, mac, erased_by: erasedBy, erased_mac: erased }
  }

  /** The seal of a row in the chain of former versions. */
  sealFormer(previous: string, mac: string, position: number): string {
    return this.sign(['seal', previous, mac, position])
  }

  /** Whether a row of that chain is what was written, in its place after the row that has the seal `previous`. */
  checkFormer(row: StoredEvent, previous: string): ProofState {
    const verdict = this.check(row, true)
    if (verdict !== 'whole') return verdict
    const { seal, mac, seal_position: position } = row
    return seal !== null && this.#isOf(seal, ['seal', previous, mac, position]) ? 'whole' : 'changed'
  }

  /** Begins the seal of a batch, or begins to compute the one that `like` should be. Undefined if its key is unknown. */
  beginBatch(like?: string): BatchSeal | undefined {
    const [id = ''] = like?.split('.') ?? [this.#current.id]
    const key = this.#keys.get(id)
    return key && new BatchSeal(id, key)
  }

  sign(values: readonly (string | number | null)[]): string {
    const { id, key } = this.#current
    return `${id}.${hmac(key, values)}`
  }

  /** Accepts only keys of the configuration: both ends of the chain are signed again when the key is replaced. */
  checkSignature(signature: string, values: readonly (string | number | null)[]): ProofState {
    const [id = ''] = String(signature).split('.')
    if (!this.#configured.has(id)) return isKeyId(id) ? 'unknown key' : 'changed'
    return this.#isOf(signature, values) ? 'whole' : 'changed'
  }

  #isOf(signature: string, values: readonly (string | number | null)[]): boolean {
    const [id = ''] = String(signature).split('.')
    const key = this.#keys.get(id)
    return key !== undefined && signature === `${id}.${hmac(key, values)}`
  }

  #keyOf(id: string, mustBeConfigured: boolean): HmacSha256 | undefined {
    return mustBeConfigured && !this.#configured.has(id) ? undefined : this.#keys.get(id)
  }

  #proof(row: AuditFacts, kind: Kind): AuditProof & { mac: string } {
    const { id, key } = this.#current
    const salt = randomText(16)
    const digest = personalDigest(key, salt, row, kind)
    return { salt, personal_digest: digest, mac: macOf(id, key, row, digest, kind) }
  }
}

/** What the seal of a batch covers besides the events. */
export interface BatchFacts {
  number: number
  /** The position of its last event. */
  position: number
  count: number
  /** The snapshot up to which events are in this batch or in an earlier one. */
  upto: string
  /** A part of the proof of each event, in order. They name the event that is missing. */
  tags: string
  sealed_at: number
  /** A digest of all columns of its events in order. Empty if one of them may change, or has been erased. Null in older batches. */
  content: string | null
}

/**
 * The digest of events, each as the database shows it: null for one that may change. Each text shows where it ends, so no other
 * events have the same texts in a row.
 */
export function contentOf(events: readonly (string | null)[]): string {
  return events.includes(null) ? '' : hash('sha256', events.join('\n'), 'base64url')
}

export const tagLength = 8

/** The part of a proof by which a batch names its event: 48 bits. */
export function tagOf(mac: string): string {
  return mac.slice(-tagLength - 1, -1)
}

/** An HMAC over the proofs of events in order, and then over the facts of their batch and the seal before it. */
export class BatchSeal {
  readonly #id: string
  readonly #hmac: Hmac

  constructor(id: string, key: HmacSha256) {
    this.#id = id
    this.#hmac = key.begin().update('batch\n')
  }

  add(...macs: readonly string[]): void {
    if (macs.length > 0) this.#hmac.update(`${macs.join('\n')}\n`)
  }

  /** Ends it. */
  over(previous: string, { number, position, count, upto, tags, sealed_at, content }: BatchFacts): string {
    const facts = [previous, number, position, count, upto, tags, sealed_at, ...(content === null ? [] : [content])]
    this.#hmac.update(JSON.stringify(facts))
    return `${this.#id}.${this.#hmac.digest('base64url')}`
  }
}

/** Whether the row existed before proofs did. */
export function isAdopted(row: AuditProof): boolean {
  return kindOf(row) === 'adopted'
}

/** Whether the proof of the row leaves its count open. */
export function isCounting(row: AuditProof): boolean {
  return kindOf(row) === 'counting'
}

function kindOf({ mac }: AuditProof): Kind | undefined {
  const [, kind = ''] = String(mac).split('.')
  return isKind(kind) ? kind : undefined
}

function isKeyId(text: string): boolean {
  return /^[0-9a-f]{8}$/.test(text)
}

function isKind(kind: string): kind is Kind {
  return kinds.includes(kind)
}

function macOf(id: string, key: HmacSha256, row: AuditFacts, digest: string, kind: Kind): string {
  const { event, reason, actor_type, actor_id, user_id, app_id, request_id, count, counted_by, at } = row
  const counted = kind === 'counting' ? [] : [user_id, count]
  const facts = [row.id, event, reason, actor_type, actor_id, app_id, request_id, counted_by, at, ...counted]
  return `${id}.${kind}.${hmac(key, ['event', kind, digest, ...facts])}`
}

function personalDigest(key: HmacSha256, salt: string, row: PersonalFacts, kind: Kind): string {
  return hmac(key, ['personal', salt, ...personalValues(kind === 'counting' ? { ...row, email: null } : row)])
}

function personalValues({ audit_reason, ip, user_agent, details, email }: PersonalFacts): (string | null)[] {
  return [audit_reason, ip, user_agent, details, email]
}

function hmac(key: HmacSha256, values: readonly (string | number | null)[]): string {
  const text = JSON.stringify(values)
  // JSON escapes half of a surrogate pair. The database stores it as another character.
  const stored = text.includes('\\ud') ? JSON.stringify(values.map(asStored)) : text
  return key.of(stored)
}

function asStored<T>(value: T): T | string {
  return typeof value === 'string' ? Buffer.from(value).toString() : value
}

interface Ends {
  position: number
  seal: string
  batch: number
  batch_position: number
  batch_seal: string
}

/** The last batch, or the last row of the former chain if there is none. */
export function endOf({ position, seal, batch, batch_position, batch_seal }: Ends): { position: number; seal: string } {
  return batch === 0 ? { position, seal } : { position: batch_position, seal: batch_seal }
}
