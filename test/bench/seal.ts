// Measures what the sealed audit adds to a login: the proof of its event when it is written, and its seal afterwards. Takes wall
// time, one event after another, next to the password hash of the same login.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PasswordHasher } from '../../packages/server/src/adapters/password-hasher.ts'
import { loadConfig } from '../../packages/server/src/config.ts'
import type { Pool } from '../../packages/server/src/db/handle.ts'
import { closeDeps, createDeps, type Deps } from '../../packages/server/src/deps.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { hasKeyOfAudit } from '../../packages/server/src/resources/audit/chain.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { ownSecrets, testEnvironment } from '../support/client.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'
import { median } from './support/server-under-test.ts'

const eventsARound = 2_000
const rounds = 7
/** The default cost of a new service, and the lowest cost. */
const costs = [12, 10]
const bound = 0.01

const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
const hashMs = new Map<number, number>()
try {
  for (const cost of costs) hashMs.set(cost, await timeHash(cost))
  for (const kind of ['sqlite', 'postgres'] as const) await measure(kind)
} finally {
  await stop()
}

async function timeHash(cost: number): Promise<number> {
  const hasher = new PasswordHasher({ cost, threads: 1 })
  const times: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const started = performance.now()
    await hasher.hash('correct horse battery staple', { key: 'bench', turns: 1 })
    if (round > 0) times.push(performance.now() - started)
  }
  await hasher.close()
  return median(times)
}

async function measure(kind: DatabaseKind): Promise<void> {
  const database = await createDatabase(kind, templates)
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'gatehouse-seal-'))
  const settings = { ...testEnvironment, DATABASE_URL: database.url, AUTH_MAIL_DIR: folder }
  const deps = createDeps(loadConfig(settings, ownSecrets))
  await hasKeyOfAudit(deps)
  const added: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const plain = await timeEvents(deps, false)
    await deps.db('audit_events').delete()
    const proven = await timeEvents(deps, true)
    const started = performance.now()
    const { sealed } = await sealEvents(deps)
    if (sealed !== eventsARound) throw new Error(`sealed ${sealed} events`)
    const sealing = performance.now() - started
    await deps.db('audit_events').delete()
    if (round > 0) added.push((proven - plain + sealing) / eventsARound)
  }
  const ms = median(added)
  for (const [cost, hash] of hashMs) {
    const what = `proof and seal of a login, ${kind}`
    record({ what, beside: `its password hash, cost ${cost}`, ours: ms, peer: hash, unit: 'ms', better: 'lower', bound })
  }
  await closeDeps(deps)
  await database.drop()
  rmSync(folder, { recursive: true })
}

/** Writes login events, one statement each. Returns milliseconds. */
async function timeEvents({ db, auditProofs }: Deps<Pool>, areProven: boolean): Promise<number> {
  const started = performance.now()
  for (let index = 0; index < eventsARound; index += 1) {
    const now = Date.now()
    const facts = {
      ...{ id: newId(now), event: 'login.success', reason: null, audit_reason: null, actor_type: 'user' as const },
      ...{ actor_id: newId(now), user_id: newId(now), app_id: newId(now), ip: '203.0.113.7', user_agent: 'Mozilla/5.0 (X11)' },
      ...{ request_id: `r${index}`, details: '{"session_id":"x"}', email: null, at: now },
    }
    const none = { salt: null, personal_digest: null, mac: null }
    await AuditEvent.append(db, [
      { ...facts, ...(areProven ? auditProofs.prove({ ...facts, count: 1, counted_by: null }) : none) },
    ])
  }
  return performance.now() - started
}
