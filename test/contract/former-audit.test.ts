// What a version before batches has left is compared before it is closed: docs/operate/sealed-audit.md, "After an upgrade".
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { hasKeyOfAudit } from '../../packages/server/src/resources/audit/chain.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { expireMonths } from '../../packages/server/src/resources/audit/remove-events.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { eraseUser } from '../../packages/server/src/resources/user-deletions/user-deletions.ts'
import { startAuditSealer } from '../../packages/server/src/workers/audit-sealer.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { becomeFormer } from '../support/former-audit.ts'
import { buildApp, buildService, buildUser, type Json, type TestService } from '../support/service.ts'

/** More than two portions. */
const many = 2_300

const events = (service: TestService) => service.deps.db('audit_events')
const chained = (service: TestService): Promise<Json[]> =>
  events(service).whereNotNull('seal_position').orderBy(['seal_position', 'id'])
const seal = (service: TestService) => sealEvents(service.deps)
/** A server that is stopped, or killed, after one portion. */
const sealOnce = (service: TestService) => sealEvents(service.deps, () => true)

async function addEvents({ deps }: TestService, count: number, userId: string | null = null): Promise<void> {
  const at = deps.clock()
  const rows = Array.from({ length: count }, () => {
    const facts = {
      ...{ id: newId(at), event: 'logout', reason: null, audit_reason: null, actor_type: 'system' as const, actor_id: null },
      ...{ user_id: userId, app_id: null, ip: null, user_agent: null, request_id: null, email: null, at },
      details: '{"email":"somebody@example.com"}',
    }
    return { ...facts, ...deps.auditProofs.prove({ ...facts, count: 1, counted_by: null }) }
  })
  for (let start = 0; start < rows.length; start += 500) await AuditEvent.append(deps.db, rows.slice(start, start + 500))
}

/** A service whose audit a former version has left. */
async function buildFormer(count: number, settings: Record<string, string> = {}): Promise<TestService> {
  const service = await buildService(settings)
  expect(await hasKeyOfAudit(service.deps)).toBe(true)
  await addEvents(service, count)
  await becomeFormer(service.deps)
  return service
}

async function verify(service: TestService, first?: string): Promise<{ fault: Json | null; former: Json | null }> {
  for (let cursor = first; ; ) {
    const { status, body } = await service.admin('GET', `/admin/audit/verify${cursor === undefined ? '' : `?cursor=${cursor}`}`)
    expect(status).toBe(200)
    if (body.next_cursor === null) return { fault: body.fault, former: body.former }
    cursor = body.next_cursor
  }
}
const formerOf = async (service: TestService) => (await verify(service, 'former.')).former

test('a complete chain is compared in portions, continues after a stop, and is closed by the signed end', async () => {
  const service = await buildFormer(many)
  const { length } = await chained(service)
  expect(await formerOf(service)).toEqual({ position: length, checked: 0, closed: false, faults: 0, first_fault: null })
  await sealOnce(service)
  const first = await formerOf(service)
  expect(first).toMatchObject({ position: length, closed: false, faults: 0 })
  expect(first!.checked).toBeGreaterThan(500)
  expect(first!.checked).toBeLessThan(length)
  await sealOnce(service)
  expect((await formerOf(service))!.checked).toBeGreaterThan(first!.checked)
  // Nothing was added so far, and new events are sealed meanwhile.
  expect(await chained(service)).toHaveLength(length)
  await addEvents(service, 3)
  expect(await sealOnce(service)).toMatchObject({ sealed: 3 })
  await seal(service)
  await seal(service)
  expect(await verify(service)).toEqual({
    fault: null,
    former: { position: length + 2, checked: length + 2, closed: true, faults: 0, first_fault: null },
  })
})

test('a service without such a chain compares nothing', async () => {
  const service = await buildService()
  await hasKeyOfAudit(service.deps)
  await addEvents(service, 3)
  await seal(service)
  expect(await verify(service)).toEqual({ fault: null, former: null })
})

test('damage is counted, named and logged at each start, the service continues, and nobody can undo the finding', async () => {
  const service = await buildFormer(many)
  const { db, logged } = { db: service.deps.db, logged: [] as Json[] }
  const rows = await chained(service)
  const at = (position: number) => events(service).where({ id: rows[position - 1]!.id })
  await at(7).update({ ip: '203.0.113.9' })
  await at(1_500).delete()
  await at(1_501).delete()
  // Two that change places.
  const [one, other] = [rows[1_699]!, rows[1_700]!]
  await at(1_700).update({ seal_position: null })
  await at(1_701).update({ seal_position: 1_700, seal: one.seal })
  await at(1_700).update({ seal_position: 1_701, seal: other.seal })
  const copy = randomUUID()
  await events(service).insert({ ...rows[1_999]!, id: copy })
  const found = [
    { kind: 'changed', subject: 'event', position: 7, event_id: rows[6]!.id },
    { kind: 'removed', subject: 'event', position: 1_500, event_id: null },
    { kind: 'changed', subject: 'event', position: 1_700, event_id: other.id },
    { kind: 'changed', subject: 'event', position: 1_701, event_id: one.id },
    { kind: 'changed', subject: 'event', position: 2_000, event_id: copy },
  ]
  await sealOnce(service)
  expect(await formerOf(service)).toMatchObject({ closed: false, faults: 1, first_fault: found[0] })
  expect(await seal(service)).toMatchObject({ refused: 5, former: { faults: { count: 6, first: found } } })
  await seal(service)
  const first = { closed: true, faults: 6, first_fault: found[0] }
  expect(await verify(service)).toMatchObject({ fault: found[0], former: first })
  // The service goes on, also where nobody reads the old events again.
  const before = await seal(service)
  await addEvents(service, 5)
  expect(await seal(service)).toMatchObject({ sealed: 5, refused: 0, batch: before.batch + 1 })
  expect(await verify(service, `batch.${before.batch}`)).toMatchObject({ fault: null, former: first })
  for (let start = 0; start < 2; start += 1) {
    const logger = { ...service.deps.logger, error: (fields: Json, message: string) => logged.push({ ...fields, message }) }
    const sealer = startAuditSealer({ ...service.deps, logger: logger as never }, 60_000)
    onTestFinished(() => sealer.stop())
    await expect.poll(() => logged.length).toBe(start + 1)
    await sealer.stop()
    expect(logged[start]).toMatchObject({ faults: 6, first: found, message: expect.stringContaining('a former version') })
  }
  const [chain] = await db('audit_chain')
  for (const change of [{ former_faults: null }, { former_checked: 0 }, { former_checked: null }, { former_closed: 0 }]) {
    await db('audit_chain').update(change)
    expect((await verify(service)).fault).toMatchObject({ kind: 'changed', subject: 'head' })
    await expect(seal(service)).rejects.toThrow('not what was written')
    await db('audit_chain').update(chain)
  }
})

test('a row after the end, a cut tail, a made-up beginning and a missing chain are named too', async () => {
  const cases: [string, (service: TestService, rows: Json[]) => Promise<unknown>, Json][] = [
    [
      'a row after the end',
      (service, rows) =>
        events(service).insert({ ...rows.at(-1), id: newId(service.deps.clock()), seal_position: rows.length + 5_000 }),
      { faults: 1, first_fault: { kind: 'changed', subject: 'event', position: 6_100 } },
    ],
    [
      'a cut tail',
      (service, rows) =>
        events(service)
          .where('seal_position', '>', rows.length - 4)
          .delete(),
      { faults: 4, first_fault: { kind: 'removed', subject: 'event', position: 1_097 } },
    ],
    [
      'a beginning that the service did not sign',
      ({ deps }, rows) =>
        deps.db('audit_checkpoints').insert({ seal_position: 5, seal: rows[4]!.seal, signature: 'x', created_at: deps.clock() }),
      { faults: 1, first_fault: { kind: 'changed', subject: 'checkpoint' } },
    ],
    [
      'all rows',
      (service) => events(service).whereNotNull('seal_position').delete(),
      { faults: 1_100, first_fault: { kind: 'removed', subject: 'event', position: 1 } },
    ],
  ]
  for (const [name, attack, expected] of cases) {
    const service = await buildFormer(1_102)
    const rows = await chained(service)
    expect(rows).toHaveLength(1_100)
    await attack(service, rows)
    const { former } = await seal(service)
    expect(former!.faults.first, name).toHaveLength(1)
    await seal(service)
    const { fault, former: told } = await verify(service)
    expect(told, name).toMatchObject({ closed: true, ...expected })
    expect(fault, name).toMatchObject(expected.first_fault)
  }
})

test('the comparison ends however many rows claim one place, also on the border of two portions', async () => {
  const service = await buildFormer(1_100)
  const [row] = await events(service).where({ seal_position: 999 })
  const copies = Array.from({ length: 1_200 }, () => ({ ...row, id: newId(service.deps.clock()) }))
  for (let start = 0; start < copies.length; start += 400) await events(service).insert(copies.slice(start, start + 400))
  for (let round = 0; round < 6; round += 1) await sealOnce(service)
  const former = await formerOf(service)
  expect(former).toMatchObject({ first_fault: { kind: 'changed', position: 999 } })
  expect(former!.checked).toBe(former!.position)
  expect((await verify(service)).fault).toMatchObject({ position: 999 })
  // One copy, where a page of verify ends.
  const other = await buildFormer(1_100)
  const [last] = await events(other).where({ seal_position: 1_001 })
  await events(other).insert({ ...last, id: newId(other.deps.clock()) })
  expect((await verify(other)).fault).toMatchObject({ kind: 'changed', position: 1_001 })
})

test('retention deletes nothing of the chain before its comparison, and an erasure in the meantime is not a fault', async () => {
  const service = await buildService({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const { deps } = service
  const { user } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  await addEvents(service, many, user.id)
  service.advance(120)
  await sealEvents(deps)
  await becomeFormer(deps)
  const { length } = await chained(service)
  await sealOnce(service)
  expect(await service.admin('DELETE', `/admin/users/${user.id}`)).toMatchObject({ status: 204 })
  await eraseUser(deps, user.id, systemActor)
  service.advance(20 * 86_400)
  await removeExpired(deps)
  expect(await expireMonths(deps, deps.clock())).toBe(0)
  expect(await chained(service)).toHaveLength(length)
  await seal(service)
  await seal(service)
  expect((await verify(service)).former).toMatchObject({ faults: 0, closed: true })
  await removeExpired(deps)
  expect(await chained(service)).toHaveLength(0)
  expect((await verify(service)).fault).toBeNull()
})
