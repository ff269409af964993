// Each event gets into one batch, whatever the transactions that write events do, and however many servers seal them.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { asTx } from '../../packages/server/src/db/handle.ts'
import { firstSnapshot, parseSnapshot } from '../../packages/server/src/lib/feed-cursors.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { hasKeyOfAudit, headFacts } from '../../packages/server/src/resources/audit/chain.ts'
import { countEvent, systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { checkAudit } from '../../packages/server/src/resources/audit/verify-audit.ts'
import { eraseUser } from '../../packages/server/src/resources/user-deletions/user-deletions.ts'
import { chance } from '../support/chance.ts'
import { becomeFormer } from '../support/former-audit.ts'
import { buildApp, buildService, buildUser, type Json, type TestService, testDatabase } from '../support/service.ts'

const onPostgres = test.runIf(testDatabase() === 'postgres')
const seed = 53
const busyMs = 4_000

function rowsOf({ deps }: TestService, count: number, userId: string | null = null) {
  const at = deps.clock()
  return Array.from({ length: count }, () => {
    const facts = {
      ...{ id: newId(at), event: 'logout', reason: null, actor_type: 'system' as const, actor_id: null, user_id: userId },
      ...{ app_id: null, request_id: null, audit_reason: null, ip: null, user_agent: null, email: null, at },
      details: '{"email":"somebody@example.com"}',
    }
    return { ...facts, ...deps.auditProofs.prove({ ...facts, count: 1, counted_by: null }) }
  })
}

const counted = async ({ deps: { db } }: TestService) => ({
  inBatches: Number((await db('audit_batches').sum({ n: 'count' }))[0]!.n),
  events: Number((await db('audit_events').count({ n: '*' }))[0]!.n),
})

onPostgres(
  'long, slow, nested and aborted transactions, counts and erasures lose no event, and no event is reported',
  async () => {
    const service = await buildService({ DB_POOL_MAX: '30' })
    const { deps } = service
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const random = chance(seed)
    const until = Date.now() + busyMs
    const isOver = () => Date.now() > until
    const write = async (count: number, holdMs: number, fails: boolean) => {
      const aborted = new Error('aborted')
      await deps.db
        .transaction(async (knex) => {
          const db = asTx(knex)
          await AuditEvent.append(db, rowsOf(service, count))
          await sleep(holdMs)
          await knex.transaction(async (nested) => AuditEvent.append(asTx(nested), rowsOf(service, 1)))
          if (fails) throw aborted
        })
        .catch((error: unknown) => {
          if (error !== aborted) throw error
        })
    }
    const writers = Array.from({ length: 8 }, async () => {
      while (!isOver()) await write(1 + Math.floor(random.next() * 30), random.next() * 120, random.next() < 0.2)
    })
    const long = write(700, busyMs - 500, false)
    const refusals = (async () => {
      while (!isOver()) {
        await countEvent(deps, { event: 'login.failed', actor: systemActor, reason: 'unknown_app' }, [
          String(random.next() < 0.5),
        ])
        service.advance(20)
        await sleep(30)
      }
    })()
    const erasures = (async () => {
      while (!isOver()) {
        const { user } = await buildUser(service, app)
        await AuditEvent.append(deps.db, rowsOf(service, 5, user.id))
        await service.admin('DELETE', `/admin/users/${user.id}`)
        await eraseUser(deps, user.id, systemActor)
      }
    })()
    const faults: unknown[] = []
    const sealers = Array.from({ length: 3 }, async () => {
      while (!isOver()) {
        await sealEvents(deps)
        await sleep(random.next() * 100)
      }
    })
    const checks = (async () => {
      while (!isOver()) faults.push(await checkAudit(deps))
    })()
    // The long transaction does not hold up the seals of others.
    const sealed = async () => Number(((await deps.db('audit_batches').sum({ n: 'count' })) as [Json])[0].n)
    await expect.poll(sealed, { timeout: busyMs - 1_000 }).toBeGreaterThan(0)
    await Promise.all([...writers, ...sealers, long, refusals, erasures, checks])
    service.advance(200)
    await sealEvents(deps)
    await sealEvents(deps)
    const { inBatches, events } = await counted(service)
    expect(inBatches).toBe(events)
    expect(await checkAudit(deps)).toBeNull()
    expect(faults.filter((fault) => fault !== null)).toEqual([])
    expect(faults.length).toBeGreaterThan(1)
  },
  120_000,
)

onPostgres('a transaction with more events than fit in memory becomes one batch', async () => {
  const service = await buildService()
  const { deps } = service
  await hasKeyOfAudit(deps)
  await deps.db.transaction(async (knex) => {
    for (let portion = 0; portion < 6; portion += 1) await AuditEvent.append(asTx(knex), rowsOf(service, 500))
  })
  await sealEvents(deps)
  const batches: Json[] = await deps.db('audit_batches').orderBy('number')
  expect(batches.map(({ count }) => count)).toContain(3_000)
  expect(await checkAudit(deps)).toBeNull()
})

onPostgres('events written after a restore into a Postgres with a lower counter are sealed after the restored ones', async () => {
  const service = await buildService()
  const { deps } = service
  const { db } = deps
  await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  await sealEvents(deps)
  await AuditEvent.append(db, rowsOf(service, 3))
  // The rows are as in a cluster whose transactions have higher numbers.
  const ahead = 5_000_000
  await db('audit_events').where('xid', '>', 0).increment('xid', ahead)
  const [chain] = await db('audit_chain')
  await db('audit_batches').delete()
  const begun = { ...chain, batch: 0, batch_position: 0, batch_seal: '', upto: firstSnapshot }
  await db('audit_chain').update({ ...begun, signature: deps.auditProofs.sign(headFacts(begun)) })
  await db.raw(`alter table audit_events alter column xid set default pg_current_xact_id()::text::bigint + ${ahead}`)
  const shifted = { ...begun, shift: ahead }
  await db('audit_chain').update({ shift: ahead, signature: deps.auditProofs.sign(headFacts(shifted)) })
  await sealEvents(deps)
  expect(await checkAudit(deps)).toBeNull()
  const [sealed] = await db('audit_chain')
  expect(parseSnapshot(sealed.upto).xmax).toBeGreaterThan(ahead)
  // The restored database counts from below, which is what `shift` of 0 stands for here.
  await db.raw('alter table audit_events alter column xid set default pg_current_xact_id()::text::bigint')
  const restored = { ...sealed, shift: 0 }
  await db('audit_chain').update({ shift: 0, signature: deps.auditProofs.sign(headFacts(restored)) })
  expect(await hasKeyOfAudit(deps)).toBe(true)
  await AuditEvent.append(db, rowsOf(service, 2))
  expect(await sealEvents(deps)).toMatchObject({ sealed: 2, refused: 0 })
  const { inBatches, events } = await counted(service)
  expect(inBatches).toBe(events)
  expect(await checkAudit(deps)).toBeNull()
  // Once is enough.
  const [after] = await db('audit_chain')
  expect(await hasKeyOfAudit(deps)).toBe(true)
  expect((await db('audit_chain'))[0]).toEqual(after)
})

onPostgres('servers that compare the chain of a former version at once count each of its faults once', async () => {
  const service = await buildService()
  const { deps } = service
  expect(await hasKeyOfAudit(deps)).toBe(true)
  for (let portion = 0; portion < 6; portion += 1) await AuditEvent.append(deps.db, rowsOf(service, 500))
  await becomeFormer(deps)
  const changed = await deps
    .db('audit_events')
    .whereNotNull('seal_position')
    .whereRaw('seal_position % 100 = 7')
    .update({ at: 1 })
  expect(changed).toBe(30)
  const found = await Promise.all(Array.from({ length: 4 }, () => sealEvents(deps)))
  expect(found.reduce((sum, { refused }) => sum + refused, 0)).toBe(changed)
  await sealEvents(deps)
  const { former } = await sealEvents(deps)
  expect(former).toMatchObject({ position: 3_000, checked: 3_000, isClosed: true, faults: { count: changed } })
})
