// The audit as a version before batches has left it: a chain of rows, each with the seal of the one before it.
import type { createKnex } from '../../packages/server/src/db/knex.ts'
import type { AuditProofs } from '../../packages/server/src/lib/audit-proof.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { headFacts } from '../../packages/server/src/resources/audit/chain.ts'
import type { Json } from './client.ts'

type Db = ReturnType<typeof createKnex>

const portion = 500

/** What that version did not know. */
const none = {
  ...{ batch: 0, batch_position: 0, batch_seal: '', upto: null, shift: 0, former_end: 0, former_closed: 0 },
  ...{ former_checked: null, former_faults: null },
}

/** Makes all events but the last two those of such a version. */
export async function becomeFormer({ db, auditProofs }: { db: Db; auditProofs: AuditProofs }): Promise<void> {
  const rows: Json[] = await db('audit_events').orderBy('id')
  let end = { position: 0, seal: '' }
  for (const [index, row] of rows.entries()) {
    const position = index + 1
    const isSealed = row.mac !== null && !row.mac.includes('.counting.') && position <= rows.length - 2
    if (isSealed) end = { position, seal: auditProofs.sealFormer(end.seal, row.mac, position) }
    const place = isSealed ? { seal_position: position, seal: end.seal } : {}
    await db('audit_events')
      .where({ id: row.id })
      .update({ xid: 0, ...place })
  }
  await db('audit_batches').delete()
  const chain = { ...(await db('audit_chain').first()), ...none, ...end }
  await db('audit_chain').update({ ...chain, signature: auditProofs.sign(headFacts(chain)) })
}

/** Adds such a chain to a database that no server has used yet, and returns the ids of its events in order. */
export async function addFormerChain(db: Db, auditProofs: AuditProofs, count: number): Promise<string[]> {
  const at = Date.now() - 86_400_000
  const ids: string[] = []
  let seal = ''
  while (ids.length < count) {
    const rows = Array.from({ length: Math.min(portion, count - ids.length) }, () => {
      const facts = {
        ...{ id: newId(at), event: 'logout', reason: null, audit_reason: null, actor_type: 'system' as const, actor_id: null },
        ...{ user_id: null, app_id: null, ip: null, user_agent: null, request_id: null, details: null, email: null, at },
      }
      const proof = auditProofs.prove({ ...facts, count: 1, counted_by: null })
      ids.push(facts.id)
      seal = auditProofs.sealFormer(seal, proof.mac ?? '', ids.length)
      return { ...facts, ...proof, xid: 0, seal_position: ids.length, seal }
    })
    await db('audit_events').insert(rows)
  }
  const began = { began_at: at, adopts_until: at, keys: '{}', sealed_at: at }
  const chain = { ...none, ...began, position: count, seal }
  await db('audit_chain').insert({ id: 1, ...chain, signature: auditProofs.sign(headFacts(chain)) })
  return ids
}

/** Makes the database one of the first version, which proved nothing. */
export async function becomeFirst({ deps: { db } }: { deps: { db: Db } }): Promise<void> {
  await db('audit_batches').delete()
  await db('audit_chain').delete()
  await db('audit_events').update({ salt: null, personal_digest: null, mac: null, xid: 0 })
}
