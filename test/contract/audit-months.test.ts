// On Postgres the audit has a partition for each month: docs/operate/sealed-audit.md, "Months". Both databases accept each event, at any time.
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { areMonthsKept, listMonths } from '../../packages/server/src/db/audit-months.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { firstIdAt, msOfId, newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { hasKeyOfAudit } from '../../packages/server/src/resources/audit/chain.ts'
import { recordEvent, systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { checkAudit } from '../../packages/server/src/resources/audit/verify-audit.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { keepAuditMonths } from '../../packages/server/src/workers/keep-audit-months.ts'
import { buildApp, buildService, buildUser, type Json, type TestService, testDatabase } from '../support/service.ts'
import { undivideAudit } from '../support/undivided-audit.ts'

const sealedAuditPage = readFileSync(new URL('../../docs/operate/sealed-audit.md', import.meta.url), 'utf8')
const onPostgres = test.runIf(testDatabase() === 'postgres')
const dayMs = 86_400_000

/** Writes events at this time, as a server whose clock says so. */
async function write({ deps }: TestService, at: number, count = 3): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index) => {
    const id = firstIdAt(at).slice(0, 24) + (index + 1 + Math.floor(Math.random() * 1e11)).toString(16).padStart(12, '0')
    const facts = {
      ...{ id, event: 'logout', reason: null, audit_reason: null, actor_type: 'system' as const, actor_id: null, user_id: null },
      ...{ app_id: null, ip: null, user_agent: null, request_id: `r${index}`, details: null, email: null, at },
    }
    return { ...facts, ...deps.auditProofs.prove({ ...facts, count: 1, counted_by: null }) }
  })
  await AuditEvent.append(deps.db, rows)
  return rows.map(({ id }) => id)
}

const partitionOf = async ({ deps }: TestService, id: string): Promise<string> =>
  (await deps.db.raw('select tableoid::regclass::text as name from audit_events where id = ?', [id])).rows[0].name
const idsIn = async ({ deps }: TestService, ids: string[]): Promise<string[]> =>
  deps.db('audit_events').whereIn('id', ids).orderBy('id').pluck('id')
const monthsOf = ({ deps }: TestService) => listMonths(deps.db)
const nameAt = (ms: number) => `audit_events_${new Date(ms).toISOString().slice(0, 7).replace('-', '_')}`

/** A service, and the first month of its audit that has a partition. */
async function buildDivided(settings: Record<string, string> = {}) {
  const service = await buildService(settings)
  await hasKeyOfAudit(service.deps)
  const [first, second] = await monthsOf(service)
  const [begin, end] = [msOfId(first!.from), msOfId(first!.to)]
  return {
    service,
    first: first!,
    second,
    begin,
    end,
    advanceTo: (ms: number) => service.advance((ms - service.deps.clock()) / 1_000),
  }
}

test('an event of any time is accepted, listed, sealed, verified and archived', async () => {
  const service = await buildService()
  await hasKeyOfAudit(service.deps)
  const now = service.deps.clock()
  const ids: string[] = []
  for (const at of [1, now - 4_000 * dayMs, now + 40 * dayMs, now + 4_000 * dayMs]) ids.push(...(await write(service, at)))
  await sealEvents(service.deps)
  expect(await checkAudit(service.deps)).toBeNull()
  expect(await idsIn(service, ids)).toEqual(ids.sort())
  const since = new Date(now + 3_999 * dayMs).toISOString()
  const { body } = await service.admin('GET', `/admin/audit?since=${since}`)
  expect(body.items.map(({ id }: Json) => id)).toEqual(ids.slice(-3).reverse())
  const before = new Date(now + 1 * dayMs).toISOString()
  const archive = await service.admin('GET', `/admin/audit/archive?before=${before}`)
  expect(archive.status).toBe(200)
  expect(archive.body.events).toBeGreaterThanOrEqual(ids.length)
})

onPostgres('a new database has the coming months, the cleanup creates the next ones, and no event waits for one', async () => {
  const { service, first, begin, advanceTo } = await buildDivided()
  const now = service.deps.clock()
  expect(begin).toBeGreaterThan(now + 13 * dayMs)
  expect((await monthsOf(service)).map(({ name }) => name)).toContain(nameAt(begin))
  const [today] = await write(service, now)
  const [later] = await write(service, begin)
  const [far] = await write(service, begin + 200 * dayMs)
  expect(await partitionOf(service, today!)).toBe('audit_events_first')
  expect(await partitionOf(service, later!)).toBe(first.name)
  expect(await partitionOf(service, far!)).toBe('audit_events_rest')

  // The months between are made. The one that the rest has an event of is not: that event stays where it is.
  advanceTo(begin + 150 * dayMs)
  await removeExpired(service.deps)
  const names = (await monthsOf(service)).map(({ name }) => name)
  expect(names).toContain(nameAt(begin + 150 * dayMs))
  expect(names).toContain(nameAt(begin + 169 * dayMs))
  expect(names).not.toContain(nameAt(begin + 200 * dayMs))
  const { values } = await service.deps.metrics.cleanupSucceeded.get()
  const done = values.find(({ labels }) => labels.rule === 'audit_months')?.value
  expect(done).toBeGreaterThanOrEqual(Math.floor((begin + 150 * dayMs) / 1_000))
  expect(await partitionOf(service, far!)).toBe('audit_events_rest')
  await sealEvents(service.deps)
  expect(await checkAudit(service.deps)).toBeNull()
  expect(service.logged).toEqual([])
})

onPostgres('retention drops a month once all of it has expired and is sealed, behind a signed checkpoint', async () => {
  const { service, first, begin, end, advanceTo } = await buildDivided({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const early = await write(service, begin + dayMs)
  await sealEvents(service.deps)
  advanceTo(begin + 12 * dayMs)
  await removeExpired(service.deps)
  expect(await idsIn(service, early)).toEqual(early.sort())
  // This batch has events of both months.
  const late = await write(service, end - 1)
  const next = await write(service, end + 1)
  await sealEvents(service.deps)
  advanceTo(end + 9 * dayMs)
  await removeExpired(service.deps)
  expect(await idsIn(service, [...early, ...late, ...next])).toHaveLength(9)

  advanceTo(end + 10 * dayMs + 2)
  await removeExpired(service.deps)
  expect(await idsIn(service, [...early, ...late])).toEqual([])
  expect((await monthsOf(service)).map(({ name }) => name)).not.toContain(first.name)
  const { rows } = await service.deps.db.raw('select to_regclass(?) as left', [first.name])
  expect(rows).toEqual([{ left: null }])
  const [checkpoint] = await service.deps.db('audit_checkpoints')
  expect(await service.deps.db('audit_batches').min({ first: 'number' })).toEqual([{ first: null }])
  expect(await service.deps.db('audit_chain').pluck('batch')).toEqual([checkpoint.batch])
  expect(await checkAudit(service.deps)).toBeNull()
  const { values } = await service.deps.metrics.cleanupRemoved.get()
  expect(values.find(({ labels }) => labels.rule === 'audit_events')?.value).toBeGreaterThanOrEqual(9)
  // The seals go on from there, and the month is not made again.
  await service.admin('GET', '/admin/users')
  await write(service, service.deps.clock())
  await sealEvents(service.deps)
  await removeExpired(service.deps)
  expect(await checkAudit(service.deps)).toBeNull()
  expect((await monthsOf(service)).map(({ name }) => name)).not.toContain(first.name)
})

onPostgres('a month stays while one of its events is unsealed or not as the service wrote it', async () => {
  const { service, first, begin, end, advanceTo } = await buildDivided({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const ids = await write(service, begin + dayMs)
  await sealEvents(service.deps)
  const [unsealed] = await write(service, begin + 2 * dayMs, 1)
  advanceTo(end + 20 * dayMs)
  await removeExpired(service.deps)
  expect(await idsIn(service, [unsealed!])).toEqual([unsealed])
  expect((await monthsOf(service)).map(({ name }) => name)).toContain(first.name)
  expect(await checkAudit(service.deps)).toBeNull()

  // Somebody has changed an event and set back the time of another, so no batch of the month is whole.
  await sealEvents(service.deps)
  const young = await write(service, service.deps.clock(), 1)
  await sealEvents(service.deps)
  await service.deps.db('audit_events').where({ id: unsealed }).update({ ip: '203.0.113.1' })
  await service.deps.db('audit_events').whereIn('id', young).update({ at: 1 })
  await service.deps.db('audit_events').whereIn('id', ids).update({ at: 1 })
  await removeExpired(service.deps)
  expect(await idsIn(service, young)).toEqual(young)
  expect(await checkAudit(service.deps)).not.toBeNull()
})

onPostgres('an event that claims to be from the future keeps its month, whose other events are deleted one by one', async () => {
  const { service, first, begin, end, advanceTo } = await buildDivided({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const ids = await write(service, begin + dayMs)
  await sealEvents(service.deps)
  const row = await service.deps.db('audit_events').where({ id: ids[0] }).first()
  const forged = firstIdAt(begin + 2 * dayMs)
  await service.deps.db('audit_events').insert({ ...row, id: forged, xid: 9_000_000_000_000_000 })
  advanceTo(end + 20 * dayMs)
  await removeExpired(service.deps)
  expect(await idsIn(service, [...ids, forged])).toEqual([forged])
  expect(await partitionOf(service, forged)).toBe(first.name)
  expect(await checkAudit(service.deps)).toMatchObject({ event: { id: forged } })
})

onPostgres('two servers that drop the same month at once leave one checkpoint, and create the next months once', async () => {
  const { service, begin, end, advanceTo } = await buildDivided({ AUTH_AUDIT_RETENTION_DAYS: '10', DB_POOL_MAX: '12' })
  for (let batch = 0; batch < 5; batch += 1) {
    await write(service, begin + batch * dayMs, 20)
    await sealEvents(service.deps)
  }
  advanceTo(end + 11 * dayMs)
  await Promise.all(Array.from({ length: 4 }, () => removeExpired(service.deps)))
  expect(await service.deps.db('audit_checkpoints')).toHaveLength(1)
  const { values } = await service.deps.metrics.cleanupSucceeded.get()
  expect(values.find(({ labels }) => labels.rule === 'audit_months')?.value).toBeGreaterThan(end / 1_000)
  const names = (await monthsOf(service)).map(({ name }) => name)
  expect(names).toContain(nameAt(end + 62 * dayMs))
  expect(new Set(names).size).toBe(names.length)
  expect(await checkAudit(service.deps)).toBeNull()
  await removeExpired(service.deps)
  const ofMonth = service.deps.db('audit_events').where('id', '>=', firstIdAt(begin)).where('id', '<', firstIdAt(end))
  expect(await ofMonth).toEqual([])
})

onPostgres('a month that was dropped, emptied, detached or replaced without a checkpoint is reported', async () => {
  const { service, first, begin, end } = await buildDivided()
  const ids = await write(service, begin + dayMs)
  await write(service, end + dayMs)
  await sealEvents(service.deps)
  const [batch] = await service.deps.db('audit_batches').orderBy('number', 'desc')
  expect(await checkAudit(service.deps)).toBeNull()
  const { name, from, to } = first
  const attach = `alter table audit_events attach partition ${name} for values from ('${from}') to ('${to}')`
  const attacks: [string[], Json][] = [
    [[`truncate ${name}`], { kind: 'removed' }],
    // With a checkpoint that somebody made up.
    [
      [
        `drop table ${name}`,
        `insert into audit_checkpoints select position, seal, 'x', sealed_at, number, upto from audit_batches`,
      ],
      { kind: 'changed', subject: 'checkpoint' },
    ],
    [[`drop table ${name}`], { kind: 'removed' }],
    [[`alter table audit_events detach partition ${name}`], { kind: 'removed' }],
    // One with other values in its place.
    [
      [
        `alter table audit_events detach partition ${name}`,
        `alter table ${name} rename to kept`,
        `create table ${name} (like kept including all)`,
        `insert into ${name} select * from kept`,
        `update ${name} set ip = '203.0.113.9' where id = '${ids[1]}'`,
        attach,
      ],
      { kind: 'changed', event_id: ids[1] },
    ],
  ]
  for (const [statements, fault] of attacks) {
    const db = service.deps.db
    const trx = await db.transaction()
    for (const sql of statements) await trx.raw(sql)
    const found = await checkAudit({ ...service.deps, db: trx as never })
    await trx.rollback()
    expect(found, statements.join('; ')).toMatchObject({ kind: fault.kind, batch: batch.number })
    if (fault.event_id) expect(found?.event?.id).toBe(fault.event_id)
  }
  expect(await checkAudit(service.deps)).toBeNull()
})

onPostgres('an event that was moved or copied to another month is named', async () => {
  const { service, begin, end } = await buildDivided()
  const [moved] = await write(service, begin + dayMs, 1)
  await write(service, end + dayMs)
  await sealEvents(service.deps)
  const elsewhere = newId(end + 2 * dayMs)
  await service.deps.db('audit_events').where({ id: moved }).update({ id: elsewhere })
  expect(await partitionOf(service, elsewhere)).toBe(nameAt(end))
  expect(await checkAudit(service.deps)).toMatchObject({ kind: 'changed', event: { id: elsewhere } })
  await service.deps.db('audit_events').where({ id: elsewhere }).update({ id: moved })
  expect(await checkAudit(service.deps)).toBeNull()
  const row = await service.deps.db('audit_events').where({ id: moved }).first()
  await service.deps.db('audit_events').insert({ ...row, id: elsewhere })
  expect(await checkAudit(service.deps)).toMatchObject({ subject: 'event', event: { id: elsewhere } })
})

onPostgres('a month is not dropped while a dump reads the table, nothing fails, and the next run drops it', async () => {
  const { service, begin, end, advanceTo } = await buildDivided({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const ids = await write(service, begin + dayMs)
  await sealEvents(service.deps)
  advanceTo(end + 11 * dayMs)
  const reader = createKnex({ databaseUrl: service.deps.config.databaseUrl, dbPoolMax: 1 })
  const dump = await reader.transaction()
  onTestFinished(async () => {
    await dump.rollback()
    await reader.destroy()
  })
  await dump.raw('select count(*) from audit_events')
  await removeExpired(service.deps)
  expect(await idsIn(service, ids)).toEqual(ids.sort())
  expect(await checkAudit(service.deps)).toBeNull()
  await recordEvent(service.deps, { event: 'user.updated', actor: systemActor })
  await dump.rollback()
  await removeExpired(service.deps)
  expect(await idsIn(service, ids)).toEqual([])
})

onPostgres(
  'the audit of a former version is divided once its servers are gone, and keeps every event, right and rule',
  async () => {
    const service = await buildService()
    await hasKeyOfAudit(service.deps)
    const { deps } = service
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    await sealEvents(deps)
    await undivideAudit(deps.db)
    await deps.db.raw('create role audit_reader_of_test').catch(() => {})
    await deps.db.raw('grant select on audit_events to audit_reader_of_test')
    expect((await service.login(user.email, app.code)).status).toBe(200)
    expect((await service.login(user.email, 'no-such-app')).status).toBe(404)
    expect(await checkAudit(deps)).toBeNull()
    const before = await deps.db('audit_events').orderBy('id')

    // A server of the first release has this connection, and writes events without a proof for an hour.
    const older = createKnex({ databaseUrl: deps.config.databaseUrl, dbPoolMax: 1 })
    await older.raw("set application_name = 'gatehouse-listener'")
    await keepAuditMonths(deps)
    expect(await areMonthsKept(deps.db)).toBe(false)
    await older.destroy()
    await expect
      .poll(async () => (await deps.db('pg_stat_activity').where({ application_name: 'gatehouse-listener' })).length)
      .toBe(0)
    await keepAuditMonths(deps)
    expect(await areMonthsKept(deps.db)).toBe(true)
    expect(await deps.db('audit_events').orderBy('id')).toEqual(before)
    // What the docs say of its indexes, and how to make them small again.
    const [, reindex] = /`(reindex table concurrently audit_events_first)`/.exec(sealedAuditPage) ?? []
    await deps.db.raw(reindex!)
    const made: Json[] = await deps.db('pg_indexes').whereLike('tablename', 'audit\\_events%').orderBy('indexname')
    const indexesOf = (table: string) => made.flatMap(({ tablename, indexname }) => (tablename === table ? [indexname] : []))
    for (const table of new Set(made.map(({ tablename }) => tablename)))
      expect([table, indexesOf(table).length]).toEqual([table, 4])
    expect(indexesOf('audit_events_first')).toEqual(
      ['about', 'acts', 'by_place', 'pkey'].map((name) => `audit_events_first_${name}`),
    )
    expect(await monthsOf(service)).not.toEqual([])
    const { rows } = await deps.db.raw("select has_table_privilege('audit_reader_of_test', 'audit_events', 'select') as may")
    expect(rows).toEqual([{ may: true }])
    await expect(deps.db('audit_events').insert({ ...before[0], id: newId(), actor_type: 'nobody' })).rejects.toThrow(
      /actor_type/,
    )
    await deps.db.raw('drop owned by audit_reader_of_test')
    await deps.db.raw('drop role audit_reader_of_test')

    expect((await service.login(user.email, app.code)).status).toBe(200)
    for (let tries = 0; tries < 2; tries += 1) expect((await service.login(user.email, 'no-such-app')).status).toBe(404)
    service.advance(120)
    await sealEvents(deps)
    expect(await checkAudit(deps)).toBeNull()
    const { body } = await service.admin('GET', `/admin/audit?user_id=${user.id}`)
    expect(body.items.length).toBeGreaterThan(2)
    expect(service.logged).toEqual([])
  },
)

onPostgres('an interrupted division refuses no event, and the next run completes it', async () => {
  const service = await buildService()
  await hasKeyOfAudit(service.deps)
  const { deps } = service
  await undivideAudit(deps.db)
  // An id of a far future, which the service did not write, keeps the table as it is.
  const [strange] = await write(service, deps.clock() + 4_000 * dayMs, 1)
  await expect(deps.lifecycle.divideAudit()).rejects.toThrow(/audit_events_bound/)
  expect(await areMonthsKept(deps.db)).toBe(false)
  await recordEvent(deps, { event: 'user.updated', actor: systemActor })
  await write(service, deps.clock() + 100 * dayMs)
  await deps.db('audit_events').where({ id: strange }).delete()
  // The process was killed before it could take the bound away.
  await deps.db.raw(
    `alter table audit_events add constraint audit_events_bound check (id < '${firstIdAt(deps.clock() + 200 * dayMs)}') not valid`,
  )
  await deps.lifecycle.divideAudit()
  expect(await areMonthsKept(deps.db)).toBe(true)
  await write(service, deps.clock() + 5_000 * dayMs)
  const [month] = await monthsOf(service)
  expect(msOfId(month!.from)).toBeGreaterThan(deps.clock() + 100 * dayMs)
  await sealEvents(deps)
  expect(await checkAudit(deps)).toBeNull()
})
