// Measures how many events `audit verify` compares in a second of processor time of the service: those in batches, beside those in the
// chain of former versions, in turns, and the same by the clock. Also how many bytes a login takes in the audit of Postgres, indexes
// included. 600 bytes and 100,000 events a second are the project's own targets.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../packages/server/src/config.ts'
import type { Pool } from '../../packages/server/src/db/handle.ts'
import { closeDeps, createDeps, type Deps } from '../../packages/server/src/deps.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { hasKeyOfAudit, headFacts } from '../../packages/server/src/resources/audit/chain.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { verifyAudit } from '../../packages/server/src/resources/audit/verify-audit.ts'
import { ownSecrets, testEnvironment } from '../support/client.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'
import { median } from './support/server-under-test.ts'

const events = 60_000
const rounds = 5
/** As many as a server writes at its limit between two seals. */
const eventsABatch = 500

const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  for (const kind of ['sqlite', 'postgres'] as const) await measure(kind)
} finally {
  await stop()
}

async function measure(kind: DatabaseKind): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-audit-'))
  const [batched, chained] = [await audited(kind, folder), await audited(kind, folder)]
  if (kind === 'postgres') await recordBytes(batched.deps)
  await chain(chained.deps)
  const rates = { batched: [] as Rate[], chained: [] as Rate[] }
  for (let round = 0; round <= rounds; round += 1) {
    const measured = { batched: await rateOf(batched.deps), chained: await rateOf(chained.deps) }
    if (round === 0) continue
    rates.batched.push(measured.batched)
    rates.chained.push(measured.chained)
  }
  for (const by of ['processor', 'clock'] as const)
    record({
      ...{ what: `audit verify, ${kind}, by the ${by}`, beside: 'the chain of former versions', unit: 'events/s' },
      ...{ ours: median(rates.batched.map((rate) => rate[by])), peer: median(rates.chained.map((rate) => rate[by])) },
      ratio: median(rates.batched.map((rate, round) => rate[by] / rates.chained[round]![by])),
      better: 'higher',
      bound: 2.5,
    })
  for (const { deps, drop } of [batched, chained]) {
    await closeDeps(deps)
    await drop()
  }
  rmSync(folder, { recursive: true })
}

/** A database with logins that are sealed in batches. */
async function audited(kind: DatabaseKind, folder: string): Promise<{ deps: Deps<Pool>; drop: () => Promise<void> }> {
  const database = await createDatabase(kind, templates)
  const deps = createDeps(loadConfig({ ...testEnvironment, DATABASE_URL: database.url, AUTH_MAIL_DIR: folder }, ownSecrets))
  await hasKeyOfAudit(deps)
  for (let written = 0; written < events; written += eventsABatch) {
    for (let each = 0; each < eventsABatch; each += 50) await AuditEvent.append(deps.db, loginsOf(deps, 50))
    await sealEvents(deps)
  }
  return { deps, drop: () => database.drop() }
}

function loginsOf({ auditProofs }: Deps, count: number) {
  return Array.from({ length: count }, (_, index) => {
    const at = Date.now()
    const facts = {
      ...{ id: newId(at), event: 'login.success', reason: null, audit_reason: null, actor_type: 'anonymous' as const },
      ...{ actor_id: null, user_id: newId(at), app_id: newId(0), ip: `203.0.113.${index}` },
      ...{ user_agent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36' },
      ...{ request_id: newId(at), details: null, email: null, at },
    }
    return { ...facts, ...auditProofs.prove({ ...facts, count: 1, counted_by: null }) }
  })
}

/** Makes the database one that a former version has left. */
async function chain({ db, auditProofs }: Deps<Pool>): Promise<void> {
  await db('audit_batches').delete()
  await db('audit_events').update({ xid: 0 })
  let end = { position: 0, seal: '' }
  for (let after = ''; ; ) {
    const query = db('audit_events').orderBy('id').limit(1_000).select('id', 'mac')
    const rows: { id: string; mac: string }[] = after === '' ? await query : await query.where('id', '>', after)
    if (rows.length === 0) break
    const sealed = rows.map(({ id, mac }) => {
      end = { position: end.position + 1, seal: auditProofs.sealFormer(end.seal, mac, end.position + 1) }
      return { id, seal_position: end.position, seal: end.seal }
    })
    await db.transaction(async (tx) => AuditEvent.rewrite(tx as never, sealed as never, ['seal_position', 'seal']))
    after = rows.at(-1)!.id
  }
  const head = {
    ...(await db('audit_chain').first()),
    ...end,
    batch: 0,
    batch_position: 0,
    batch_seal: '',
    upto: '1:1:',
    former_end: end.position,
  }
  await db('audit_chain').update({ ...head, signature: auditProofs.sign(headFacts(head)) })
  if (db.client.driverName === 'pg') await db.raw('vacuum analyze audit_events')
}

/** Events a second. */
interface Rate {
  processor: number
  clock: number
}

async function rateOf(deps: Deps<Pool>): Promise<Rate> {
  const started = performance.now()
  const used = process.cpuUsage()
  let checked = 0
  let cursor: string | undefined
  do {
    const page = await verifyAudit(deps, { cursor })
    if (page.fault) throw new Error(`not whole: ${JSON.stringify(page.fault)}`)
    checked += page.checked
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  const { user, system } = process.cpuUsage(used)
  return { processor: checked / ((user + system) / 1e6), clock: checked / ((performance.now() - started) / 1_000) }
}

async function recordBytes({ db }: Deps<Pool>): Promise<void> {
  await db.raw('vacuum analyze audit_events')
  const sizes =
    "select sum(pg_total_relation_size(name::regclass))::float8 as bytes from unnest(array['audit_events_first', 'audit_batches']) as name"
  const { rows } = await db.raw(sizes)
  const [counted] = await db('audit_events').count({ n: '*' })
  const n = Number(counted?.n)
  const each = await db.raw(
    "select indexrelname as name, pg_relation_size(indexrelid)::float8 as bytes from pg_stat_user_indexes where relname = 'audit_events_first' order by 2 desc",
  )
  for (const { name, bytes } of each.rows) console.log(`    ${name}: ${Math.round(bytes / n)} bytes`)
  record({
    what: 'bytes of a login in the audit, indexes included',
    ours: rows[0].bytes / n,
    unit: 'bytes',
    better: 'lower',
    bound: 600,
  })
}
