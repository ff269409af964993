import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { timestamp } from '../../lib/fields.ts'
import { type NewKeyPair, newKeyPair } from '../../lib/rs256.ts'
import { iso } from '../../lib/timestamps.ts'
import { SigningKey, type SigningKeyRow } from '../../models/signing-key.ts'
import { recordEvent } from '../audit/record-event.ts'
import { type IdTokenKeys, idTokenKeyContext, readCatalog, renewCatalog } from '../catalog/catalog.ts'

const signingKeyRecord = z
  .object({
    kid: z.string(),
    stage: z.enum(['next', 'current', 'retired']).meta({
      description:
        'The current key signs. The next one is published already. A retired one is still accepted by clients for an hour',
    }),
    since: timestamp.meta({ description: 'When the key entered this stage' }),
    created_at: timestamp,
  })
  .meta({ id: 'IdTokenKey', description: 'A key of ID tokens. The key itself is never shown' })

export const idTokenKeyList = z
  .object({ items: z.array(signingKeyRecord), next_cursor: z.null() })
  .meta({ id: 'IdTokenKeys', description: 'All keys, on one page' })

export const rotateBody = z
  .strictObject({
    current_kid: z.string().max(200).optional().meta({ description: 'Rotates only if this key signs now' }),
    compromised: z.boolean().default(false).meta({
      description:
        'Replaces all keys at once: ID tokens and hints that they signed are refused. For keys that somebody else may have',
    }),
  })
  .meta({ id: 'RotateIdTokenKeys' })

/** How long clients may keep the list of keys. */
export const keysCachedSeconds = 300
/** A retired key is published until every token that it has signed is long over. */
const publishedMs = 3_600_000

const making = new WeakMap<object, Promise<void>>()

/**
 * The keys of ID tokens, at the given generation of the catalog or else the current one. The first call of all makes them: most
 * services never need any. Of calls at the same moment, on one server or several, one makes them.
 */
export async function getIdTokenKeys(deps: Deps<Pool>, generation?: string): Promise<IdTokenKeys> {
  const known = await (await readCatalog(deps, generation)).getIdTokenKeys()
  if (known.rows.length > 0) return known
  const process = deps.catalogCache
  const made =
    making.get(process) ??
    makeFirst(deps).finally(() => {
      making.delete(process)
    })
  making.set(process, made)
  await made
  return (await readCatalog(deps)).getIdTokenKeys()
}

async function makeFirst(deps: Deps<Pool>): Promise<void> {
  const [current, next] = await Promise.all([newKeyPair(), newKeyPair()])
  await transaction(deps, async (deps) => {
    // Makes other servers wait, which then find the keys.
    await renewCatalog(deps)
    if ((await SigningKey.listAll(deps.db)).length > 0) return
    await insert(deps, current, 'current')
    await insert(deps, next, 'next')
  })
}

async function insert(deps: Deps<Tx>, { id, publicJwk, privateKey }: NewKeyPair, stage: SigningKey['stage']): Promise<void> {
  const now = deps.clock()
  const box = deps.secretBox.seal(privateKey, idTokenKeyContext(id))
  const row = { id, stage, public_jwk: JSON.stringify(publicJwk), private_box: box, created_at: now, stage_since: now }
  await SigningKey.insert(deps.db, row)
}

/** The keys that clients accept. */
export async function listPublishedKeys(deps: Deps<Pool>): Promise<readonly SigningKeyRow[]> {
  const { rows } = await getIdTokenKeys(deps)
  const since = deps.clock() - publishedMs
  return rows.filter(({ stage, stage_since }) => stage !== 'retired' || stage_since > since)
}

/**
 * Lets the next key sign, retires the current one, and makes another next one. Clients know the next key already, and accept tokens
 * of the retired one while they live. With `compromised`, no key that there was is accepted any more. Throws
 * `signing_step_impossible` if another key than `current` signs, so that of two callers one rotates.
 */
export async function rotateIdTokenKeys(
  deps: Deps<Pool>,
  { current_kid: expected, compromised }: { current_kid?: string | undefined; compromised: boolean },
  actor: Actor,
): Promise<readonly SigningKeyRow[]> {
  await getIdTokenKeys(deps)
  const [made, other] = await Promise.all([newKeyPair(), newKeyPair()])
  return transaction(deps, async (deps) => {
    await renewCatalog(deps)
    const before = await SigningKey.listAll(deps.db)
    const current = before.find(({ stage }) => stage === 'current')
    if (expected !== undefined && expected !== current?.id)
      throw new ApiError('signing_step_impossible', { detail: 'Another key signs by now: the keys were rotated meanwhile' })
    const next = before.find(({ stage }) => stage === 'next')
    const canOpen = next?.private_box != null && deps.secretBox.hasKeyOf(next.private_box)
    const now = deps.clock()
    if (compromised || !canOpen) {
      await (compromised ? SigningKey.query(deps.db).delete() : retireBoth(deps, now))
      await insert(deps, other, 'current')
    } else {
      await retireCurrent(deps, now)
      await promoteNext(deps, now)
    }
    await insert(deps, made, 'next')
    const after = await SigningKey.listAll(deps.db)
    const kidOf = (rows: readonly SigningKeyRow[]) => rows.find(({ stage }) => stage === 'current')?.id
    const details = { before: kidOf(before), after: kidOf(after), ...(compromised && { compromised }) }
    await recordEvent(deps, { event: 'signing_key.rotated', actor, details })
    return after
  })
}

/** For keys that were sealed under an AUTH_ENCRYPTION_KEY that is gone: none of them can sign. */
async function retireBoth(deps: Deps<Tx>, now: number): Promise<void> {
  await retireCurrent(deps, now)
  await promoteNext(deps, now)
  await retireCurrent(deps, now)
}

/** The current key then cannot sign any more. */
async function retireCurrent({ db }: Deps<Tx>, now: number): Promise<void> {
  await SigningKey.update(db, { stage: 'current' }, { stage: 'retired', private_box: null, stage_since: now })
}

async function promoteNext({ db }: Deps<Tx>, now: number): Promise<void> {
  await SigningKey.update(db, { stage: 'next' }, { stage: 'current', stage_since: now })
}

export function presentIdTokenKeys(rows: readonly SigningKeyRow[]): z.output<typeof idTokenKeyList> {
  const items = rows.map(({ id, stage, stage_since, created_at }) => ({
    kid: id,
    stage,
    since: iso(stage_since),
    created_at: iso(created_at),
  }))
  return { items, next_cursor: null }
}
