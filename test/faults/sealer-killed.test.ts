// Any server may seal the audit. Whenever servers die, the next one continues where they ended.
import { describe, expect, onTestFinished, test } from 'vitest'
import { asPool } from '../../packages/server/src/db/handle.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { AuditProofs } from '../../packages/server/src/lib/audit-proof.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { chance } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, testEnvironment } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { addFormerChain } from '../support/former-audit.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const rounds = sized(2, 20)
/** Enough events that sealing them takes longer than a server lives in this test. */
const eventsARound = sized(4_000, 20_000)
const formerEvents = sized(30_000, 200_000)

type Db = ReturnType<typeof createKnex>

const none = { actor_id: null, user_id: null, app_id: null, reason: null, audit_reason: null, request_id: null }
const unknown = { ip: null, user_agent: null, details: null, email: null }
const proofs = new AuditProofs([Buffer.from(testEnvironment.AUTH_ENCRYPTION_KEY, 'base64')])

/** Writes events, as a server does or, with `isFirst`, as one of the first version did. */
async function addEvents(db: Db, isFirst = false): Promise<void> {
  for (let written = 0; written < eventsARound; written += 500) {
    const at = Date.now()
    const rows = Array.from({ length: 500 }, () => {
      const row = { id: newId(at), event: 'logout', actor_type: 'system' as const, ...none, ...unknown, at }
      return { ...row, ...proofs.prove({ ...row, count: 1, counted_by: null }) }
    })
    const ofNobody = { salt: null, personal_digest: null, mac: null, xid: 0 }
    if (isFirst) await db('audit_events').insert(rows.map((row) => ({ ...row, ...ofNobody })))
    else await AuditEvent.append(asPool(db), rows)
  }
}

/** What is in no batch, nor in the chain of the first version. */
async function countUnsealed(db: Db): Promise<number> {
  const batches = Number((await db('audit_batches').sum({ n: 'count' }))[0]!.n ?? 0)
  const chained = Number((await db('audit_events').whereNotNull('seal_position').count({ n: '*' }))[0]!.n)
  return Number((await db('audit_events').count({ n: '*' }))[0]!.n) - batches - chained
}

async function verify(server: ServerProcess): Promise<{ checked: number; adopted: number; fault: unknown }> {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const total = { checked: 0, adopted: 0 }
  let cursor: string | null = ''
  for (;;) {
    const path: string = `/admin/audit/verify${cursor === '' ? '' : `?cursor=${cursor}`}`
    const { status, body } = await server.call('GET', path, { token })
    expect(status).toBe(200)
    total.checked += body.checked
    total.adopted += body.adopted
    cursor = body.next_cursor
    if (cursor === null) return { ...total, fault: body.fault }
  }
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  // With SQLite there can be only one server.
  const servers = kind === 'sqlite' ? 1 : 2

  test('kill -9 in the middle of sealing, with an upgrade of many events, leaves one whole chain', {
    timeout: 600_000,
  }, async (context) => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
    onTestFinished(() => db.destroy())
    const dice = chance(kind.length)
    await addEvents(db, true)
    let cut = 0
    for (let round = 0; round < rounds; round += 1) {
      const running = await Promise.all(Array.from({ length: servers }, () => startServer(settings)))
      await Promise.all(running.map((server) => server.login(ADMIN_EMAIL, 'authctl')))
      await addEvents(db)
      await new Promise((resolve) => setTimeout(resolve, dice.next() * 50))
      for (const server of running) server.signal('SIGKILL')
      await Promise.all(running.map(({ ended }) => ended))
      if ((await countUnsealed(db)) > 0) cut += 1
    }
    const running = await Promise.all(Array.from({ length: servers }, () => startServer(settings)))
    const unsealed = () => countUnsealed(db)
    await expect.poll(unsealed, { timeout: 120_000, interval: 200 }).toBe(0)
    const numbers: number[] = await db('audit_batches').orderBy('number').pluck('number')
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
    const verified = await verify(running[0]!)
    expect(verified).toMatchObject({ fault: null, adopted: eventsARound })
    expect(verified.checked).toBeGreaterThanOrEqual((rounds + 1) * eventsARound)
    expect(cut).toBeGreaterThan(0)
    measured(context, `${rounds} kills of ${servers}, ${cut} of them in the middle; ${numbers.length} batches in one whole chain`)
    for (const server of running) expect((await server.stop()).code).toBe(0)
  })

  test('kill -9 while the chain of a former version is compared lets the next server go on, and each fault counts once', {
    timeout: 600_000,
  }, async (context) => {
    const database = await createDatabase(kind)
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
    onTestFinished(() => db.destroy())
    const ids = await addFormerChain(db, proofs, formerEvents)
    const broken = ids.filter((_, index) => index % 500 === 123)
    for (const id of broken) await db('audit_events').where({ id }).update({ request_id: 'x' })
    const checked = async () => Number((await db('audit_chain').first()).former_checked ?? 0)
    const dice = chance(kind.length)
    let cut = 0
    for (let round = 0; round < rounds; round += 1) {
      const running = await Promise.all(Array.from({ length: servers }, () => startServer(settings)))
      const before = await checked()
      await expect.poll(checked, { interval: 1 }).toSatisfy((now: number) => now > before || now === formerEvents)
      await new Promise((resolve) => setTimeout(resolve, dice.next() * 20))
      for (const server of running) server.signal('SIGKILL')
      await Promise.all(running.map(({ ended }) => ended))
      if ((await checked()) < formerEvents) cut += 1
    }
    const running = await Promise.all(Array.from({ length: servers }, () => startServer(settings)))
    await expect.poll(async () => (await db('audit_chain').first()).former_closed, { timeout: 120_000, interval: 50 }).toBe(1)
    const token = (await running[0]!.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const { body } = await running[0]!.call('GET', '/admin/audit/verify', { token })
    const first = { kind: 'changed', position: 124, event_id: broken[0] }
    const former = { position: formerEvents, checked: formerEvents, closed: true, faults: broken.length, first_fault: first }
    expect(body).toMatchObject({ fault: first, former })
    expect(cut).toBeGreaterThan(0)
    measured(context, `${rounds} kills of ${servers}, ${cut} of them in the middle of ${formerEvents} events`)
    for (const server of running) expect((await server.stop()).code).toBe(0)
  })
})
