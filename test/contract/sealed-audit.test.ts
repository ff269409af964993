// Changes to the audit in the database, past the service, are found: docs/sealed-audit.md.
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AuditProofs } from '../../packages/server/src/lib/audit-proof.ts'
import { SecretBox } from '../../packages/server/src/lib/secret-box.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { isInChain } from '../../packages/server/src/resources/audit/is-in-chain.ts'
import { headFacts } from '../../packages/server/src/resources/audit/keys-of-chain.ts'
import { checkpointFacts } from '../../packages/server/src/resources/audit/read-beginning.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { countUnopenable } from '../../packages/server/src/resources/system/count-unopenable.ts'
import { eraseUser } from '../../packages/server/src/resources/user-deletions/erase-user.ts'
import { startAuditSealer } from '../../packages/server/src/workers/audit-sealer.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { dropAuditEvents } from '../support/drop-audit-events.ts'
import { samples } from '../support/lane.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type TestService, testDatabase } from '../support/service.ts'

interface Verified {
  checked: number
  adopted: number
  unsealed: number
  fault: Json | null
  head: { position: number; seal: string } | null
}

async function verify(service: TestService, head?: string): Promise<Verified> {
  const total = { checked: 0, adopted: 0, unsealed: 0 }
  let cursor: string | null = null
  for (;;) {
    const query = new URLSearchParams({ ...(cursor !== null && { cursor }), ...(head !== undefined && { head }) })
    const { status, body } = await service.admin('GET', `/admin/audit/verify?${query}`)
    expect(status).toBe(200)
    total.checked += body.checked
    total.adopted += body.adopted
    total.unsealed += body.unsealed
    cursor = body.next_cursor
    if (cursor === null) return { ...total, fault: body.fault, head: body.head }
  }
}

const events = (service: TestService) => service.deps.db('audit_events')
const sealedRows = (service: TestService): Promise<Json[]> =>
  events(service).whereNotNull('seal_position').orderBy('seal_position')
const seal = (service: TestService) => sealEvents(service.deps)

/** Some events of every kind, most of them sealed, a few not. One of the sealed events counts refusals. */
async function buildAudited(
  settings: Record<string, string> = {},
): Promise<{ service: TestService; app: Json; user: Json; refreshToken: string }> {
  const service = await buildService(settings)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app, { first_name: 'Grace', last_name: 'Hopper' })
  for (let n = 0; n < 3; n++) expect((await service.login(user.email, 'no-such-app')).status).toBe(404)
  expect((await service.login(user.email, app.code, { password: 'a wrong password' })).status).toBe(401)
  service.advance(120)
  await seal(service)
  const { body } = await service.login(user.email, app.code)
  expect((await service.login(user.email, app.code, { password: 'a wrong password' })).status).toBe(401)
  return { service, app, user, refreshToken: body.refresh_token }
}

/** Events as the service writes them, without a seal. */
async function addEvents(service: TestService, count: number): Promise<void> {
  const { deps } = service
  const at = deps.clock()
  const rows = Array.from({ length: count }, (_, index) => {
    const id = newId(at)
    const personal = { audit_reason: null, ip: `203.0.113.${index % 250}`, user_agent: null, details: null, email: null }
    const facts = {
      id,
      event: 'logout',
      reason: null,
      actor_type: 'system' as const,
      actor_id: null,
      user_id: null,
      app_id: null,
    }
    const row = { ...facts, ...personal, request_id: `r${index}`, count: 1, counted_by: null, at }
    return { ...row, ...deps.auditProofs.prove(row) }
  })
  await insertAll(service, 'audit_events', rows)
}

/** Takes portions, because a statement takes only so many values. */
async function insertAll({ deps }: TestService, table: string, rows: object[]): Promise<void> {
  for (let start = 0; start < rows.length; start += 500) await deps.db(table).insert(rows.slice(start, start + 500))
}

/** Changes the database, returns the fault that verify finds, and restores the rows. */
async function attack(service: TestService, change: () => Promise<unknown>): Promise<Json | null> {
  const { db } = service.deps
  const tables = ['audit_events', 'audit_chain', 'audit_checkpoints']
  const before = await Promise.all(tables.map((table) => db(table)))
  await change()
  const { fault } = await verify(service)
  for (const [index, table] of tables.entries()) {
    await db(table).delete()
    await insertAll(service, table, before[index]!)
  }
  return fault
}

const different: Record<string, (value: Json[string]) => unknown> = {
  id: () => newId(Date.now()),
  actor_id: () => randomUUID(),
  user_id: () => randomUUID(),
  app_id: () => randomUUID(),
  erased_by: () => randomUUID(),
  actor_type: (value) => (value === 'system' ? 'user' : 'system'),
  count: (value) => value + 1,
  at: (value) => value + 1,
  seal_position: (value) => (value ?? 0) + 1_000,
}
const otherText = (value: unknown) => `${value ?? ''}x`

test('what the service writes is whole: sealed, counted, and not yet sealed', async () => {
  const { service } = await buildAudited()
  const verified = await verify(service)
  expect(verified).toMatchObject({ fault: null, adopted: 0 })
  const [{ count }] = await events(service).where({ reason: 'unknown_app' }).orWhere('count', '>', 1).select('count')
  expect(count).toBe(3)
  expect(verified.checked).toBe(Number((await events(service).count({ n: '*' }))[0]!.n))
  expect(verified.unsealed).toBeGreaterThan(1)
  const rows = await sealedRows(service)
  expect(rows.map(({ seal_position }) => seal_position)).toEqual(rows.map((_, index) => index + 1))
  expect(verified.head).toMatchObject({ position: rows.length, seal: rows.at(-1)!.seal })
})

test('a change of any column of any row by SQL is named', async () => {
  const { service } = await buildAudited()
  const rows: Json[] = await events(service).orderBy('id')
  const columns = Object.keys(rows[0]!)
  expect(columns).toHaveLength(23)
  const chosen = [rows[0]!, rows[Math.floor(rows.length / 2)]!, rows.find(({ count }) => count > 1)!, rows.at(-1)!]
  for (const row of chosen) {
    for (const column of columns) {
      const values = [(different[column] ?? otherText)(row[column])]
      if (row[column] !== null && !['id', 'event', 'actor_type', 'count', 'at'].includes(column)) values.push(null)
      for (const value of values) {
        const fault = await attack(service, () =>
          events(service)
            .where({ id: row.id })
            .update({ [column]: value }),
        )
        const where = `${column} of a row ${row.seal_position === null ? 'without seal' : 'with seal'} to ${value}`
        expect(fault, where).not.toBeNull()
        // If a row has lost its place, verify may name the gap. For every other change it names the row itself.
        if (!['id', 'seal_position'].includes(column)) expect([where, fault!.event_id]).toEqual([where, row.id])
      }
    }
  }
  expect((await verify(service)).fault).toBeNull()
})

test('a sealed row that is removed is missed, the first, a middle one and the last', async () => {
  const { service } = await buildAudited()
  const rows = await sealedRows(service)
  for (const row of [rows[0]!, rows[Math.floor(rows.length / 2)]!, rows.at(-1)!]) {
    const fault = await attack(service, () => events(service).where({ id: row.id }).delete())
    expect(fault).toMatchObject({ kind: 'removed', subject: 'event', position: row.seal_position })
  }
  const all = await attack(service, () => events(service).whereNotNull('seal_position').delete())
  expect(all).toMatchObject({ kind: 'removed', position: 1 })
})

test('a row that is slipped in is named: copied, forged, with a seal and without', async () => {
  const { service } = await buildAudited()
  const rows = await sealedRows(service)
  const last = rows.at(-1)!
  const end = { seal_position: last.seal_position + 1 }
  const unsealed = { seal_position: null, seal: null }
  const forged = { ...last, id: newId(service.deps.clock()), event: 'login.success', counted_by: null }
  const noProof = { salt: null, personal_digest: null, mac: null }
  const inserted = [
    { ...forged, ...unsealed },
    { ...forged, ...end },
    { ...forged, ...end, ...noProof },
    { ...forged, ...unsealed, ...noProof },
    { ...forged, seal_position: 0 },
    { ...rows[0]!, ...unsealed, id: newId(service.deps.clock()), counted_by: null },
    { ...forged, ...unsealed, ...new AuditProofs([randomBytes(32)]).prove(forged as never) },
  ]
  for (const row of inserted) {
    const fault = await attack(service, () => events(service).insert(row))
    expect(fault, JSON.stringify(row)).toMatchObject({ subject: 'event', event_id: row.id })
  }
  // The sealer skips what the service did not write, and seals the rest.
  await events(service).insert({ ...forged, ...unsealed })
  service.advance(120)
  expect(await seal(service)).toMatchObject({ refused: 1 })
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', position: null, event_id: forged.id })
})

test('two rows that change places are named, and so is one that lost its seal and was sealed again', async () => {
  const { service } = await buildAudited()
  const [one, other] = (await sealedRows(service)) as [Json, Json]
  const place = ({ seal_position, seal }: Json) => ({ seal_position, seal })
  const swapped = await attack(service, async () => {
    await events(service).where({ id: one.id }).update({ seal_position: null })
    await events(service).where({ id: other.id }).update(place(one))
    await events(service).where({ id: one.id }).update(place(other))
  })
  expect(swapped).toMatchObject({ kind: 'changed', position: 1, event_id: other.id })
  const again = await attack(service, async () => {
    await events(service).where({ id: other.id }).update({ seal_position: null, seal: null })
    await seal(service)
  })
  expect(again).toMatchObject({ kind: 'removed', position: 2 })
})

test('what tells the beginning and the end of the chain cannot be changed either, and the log tells of an end cut off', async () => {
  const { service } = await buildAudited()
  const { db } = service.deps
  const { head } = await verify(service)
  const [chain] = await db('audit_chain')
  expect(await attack(service, () => db('audit_chain').delete())).toMatchObject({ kind: 'removed', subject: 'head' })
  for (const [column, value] of [
    ['position', chain.position - 1],
    ['seal', otherText(chain.seal)],
    ['signature', otherText(chain.signature)],
    ['began_at', chain.began_at + 1],
    ['adopts_until', chain.adopts_until + 100_000_000],
  ]) {
    const fault = await attack(service, () => db('audit_chain').update({ [column]: value }))
    expect(fault, column).toMatchObject({ kind: 'changed', subject: 'head' })
  }
  const early = { seal_position: 2, seal: 'x', signature: 'x', created_at: 1 }
  expect(await attack(service, () => db('audit_checkpoints').insert(early))).toMatchObject({ subject: 'checkpoint' })

  const known = `${head!.position}:${head!.seal}`
  expect((await verify(service, known)).fault).toBeNull()
  service.advance(120)
  await seal(service)
  expect((await verify(service, known)).fault).toBeNull()
  expect((await verify(service, `${head!.position}:another`)).fault).toMatchObject({ kind: 'changed', subject: 'head' })
  const { head: later } = await verify(service)
  // An attacker resets the head to an earlier state, with the signature that it had then, and leaves the later events.
  const { kind, subject } = (await attack(service, () => db('audit_chain').update(chain)))!
  expect({ kind, subject }).toEqual({ kind: 'changed', subject: 'head' })
  // Or deletes the later events too. Only a head that was noted before shows it.
  await events(service).where('seal_position', '>', chain.position).delete()
  await db('audit_chain').update(chain)
  expect((await verify(service)).fault).toBeNull()
  const fault = (await verify(service, `${later!.position}:${later!.seal}`)).fault
  expect(fault).toMatchObject({ kind: 'removed', position: chain.position + 1 })
})

test('an erased user leaves the chain whole: the salts are gone, and a sealed event lists the rows', async () => {
  const { service, app, user } = await buildAudited()
  await service.admin('PATCH', `/admin/users/${user.id}`, {
    body: { first_name: 'G' },
    headers: { 'x-audit-reason': user.email },
  })
  service.advance(120)
  await seal(service)
  await service.login(user.email, app.code)
  await service.admin('DELETE', `/admin/users/${user.id}`)
  const before = await sealedRows(service)
  await eraseUser(service.deps, user.id, systemActor)
  const after: Json[] = await sealedRows(service)
  const touched = after.filter(({ erased_by }) => erased_by !== null)
  expect(touched.length).toBeGreaterThan(1)
  for (const row of touched) {
    expect(row).toMatchObject({ salt: null, mac: before.find(({ id }) => id === row.id)!.mac })
    const event = await events(service).where({ id: row.erased_by }).first()
    expect(event.event).toBe('audit.erased')
    expect(JSON.parse(event.details).events).toContain(row.id)
  }
  expect(JSON.stringify(await events(service))).not.toContain(user.email)
  expect((await verify(service)).fault).toBeNull()
  await seal(service)
  expect((await verify(service)).fault).toBeNull()

  const [row] = touched as [Json]
  const old = before.find(({ id }) => id === row.id)!
  for (const change of [
    { details: otherText(row.details) },
    { salt: old.salt },
    { erased_mac: null },
    { erased_by: randomUUID() },
    { ip: '203.0.113.9' },
    { personal_digest: otherText(row.personal_digest) },
  ]) {
    const fault = await attack(service, () => events(service).where({ id: row.id }).update(change))
    expect(fault, Object.keys(change).join()).toMatchObject({ kind: 'changed', event_id: row.id })
  }
  // The original row, restored whole from a backup.
  const putBack = await attack(service, () => events(service).where({ id: old.id }).update(old))
  expect(putBack).toMatchObject({ kind: 'changed', event_id: row.id })
  // Values that are blanked without an event that lists the row.
  const other = after.find(({ id, erased_by }) => erased_by === null && id !== row.id)!
  const fault = await attack(service, () =>
    events(service).where({ id: other.id }).update({ salt: null, ip: null, details: null }),
  )
  expect(fault).toMatchObject({ kind: 'changed', event_id: other.id })
})

test('erasing does not make a changed row whole', async () => {
  const { service, user } = await buildAudited()
  await service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'G' } })
  await seal(service)
  const row = (await sealedRows(service)).find(({ event }) => event === 'user.updated')!
  await events(service)
    .where({ id: row.id })
    .update({ details: row.details.replace('{', '{"forged":1,') })
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', event_id: row.id })
})

test('retention moves the beginning of the chain, and what is put back before it is named', async () => {
  const { service, user, app } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  service.advance(120)
  await seal(service)
  const [gone] = (await sealedRows(service)) as [Json]
  service.advance(9 * 86_400)
  expect((await service.login(user.email, app.code)).status).toBe(200)
  await seal(service)
  service.advance(2 * 86_400)
  await removeExpired(service.deps)
  const [first] = (await sealedRows(service)) as [Json]
  const [checkpoint] = await service.deps.db('audit_checkpoints')
  expect(first.seal_position).toBeGreaterThan(3)
  expect(checkpoint).toMatchObject({ seal_position: first.seal_position - 1 })
  expect((await verify(service)).fault).toBeNull()
  expect(await attack(service, () => events(service).insert(gone))).toMatchObject({ kind: 'inserted', event_id: gone.id })
  expect(await attack(service, () => service.deps.db('audit_checkpoints').delete())).toMatchObject({ kind: 'removed' })

  service.advance(20 * 86_400)
  await removeExpired(service.deps)
  expect(await sealedRows(service)).toEqual([])
  expect((await verify(service)).fault).toBeNull()
  await service.login(user.email, app.code)
  await seal(service)
  expect((await verify(service)).fault).toBeNull()
})

test('an event whose time is set back is not deleted by retention', async () => {
  const { service, user, app } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  service.advance(120)
  await seal(service)
  const rows = await sealedRows(service)
  await events(service).where('seal_position', '<=', 3).update({ at: 1 })
  await removeExpired(service.deps)
  expect(await sealedRows(service)).toHaveLength(rows.length)
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', position: 1, event_id: rows[0]!.id })
  // An event whose time was set forward does not stay forever either: it is deleted with the next intact one.
  await events(service).where({ seal_position: 2 }).update({ at: 9_000_000_000_000 })
  service.advance(11 * 86_400)
  await service.login(user.email, app.code)
  await seal(service)
  await removeExpired(service.deps)
  expect((await sealedRows(service))[0]!.seal_position).toBeGreaterThan(3)
  expect((await verify(service)).fault).toBeNull()
  // Moving the beginning of the chain gets nothing deleted either.
  await service.deps.db('audit_checkpoints').update({ seal_position: 1, seal: 'x' })
  service.advance(20 * 86_400)
  const left = await sealedRows(service)
  await removeExpired(service.deps)
  expect(await sealedRows(service)).toEqual(left)
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', subject: 'checkpoint' })
})

test('a server misses the events that were cut off after it had sealed them', async () => {
  const { service, app, user } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const { deps } = service
  const lines: Json[] = []
  const logger = { info: () => undefined, error: (fields: Json, text: string) => lines.push({ ...fields, text }) }
  const [before] = await deps.db('audit_chain')
  service.advance(120)
  const sealer = startAuditSealer({ ...deps, logger: Object.assign(Object.create(deps.logger), logger) }, 20)
  try {
    const patience = { timeout: 60_000 }
    const figureOf = async (metric: 'auditHead' | 'auditCutOffs') => (await deps.metrics[metric].get()).values[0]?.value
    const isSealed = () => expect.poll(async () => (await verify(service)).unsealed, patience).toBe(0)
    const isSeen = (position: number) => expect.poll(() => figureOf('auditHead'), patience).toBe(position)
    await isSealed()
    const { head } = await verify(service)
    await isSeen(head!.position)
    // If retention deletes the last event that the server sealed, that is not an alarm.
    service.advance(30 * 86_400)
    await removeExpired(deps)
    await service.login(user.email, app.code)
    await isSealed()
    const { head: last } = await verify(service)
    await isSeen(last!.position)
    expect(lines).toEqual([])
    const [checkpoint] = await deps.db('audit_checkpoints')
    expect(checkpoint.seal_position).toBe(head!.position)
    expect(before.position).toBeLessThan(head!.position)
    await deps.db.transaction(async (db) => {
      await db('audit_events').where('seal_position', '>', checkpoint.seal_position).delete()
      const facts = { position: checkpoint.seal_position, seal: checkpoint.seal }
      const { began_at, adopts_until } = before
      const signature = deps.auditProofs.sign(headFacts({ ...facts, began_at, adopts_until }))
      await db('audit_chain').update({ ...facts, signature })
    })
    await expect.poll(() => figureOf('auditCutOffs'), patience).toBe(1)
    expect(lines).toEqual([{ head: `${last!.position}:${last!.seal}`, text: expect.stringContaining('are gone') }])
    expect((await verify(service)).fault).toBeNull()
  } finally {
    await sealer.stop()
  }
})

/** Records made by someone who can write to the database, and has no key of the service. */
const forgedBeginnings = (deps: TestService['deps'], position: number) => {
  const facts = { seal_position: position, seal: 'x' }
  const { id } = deps.auditProofs.current
  const stranger = new AuditProofs([randomBytes(32)])
  return ['', 'x', `${id}.x`, `${id}.`, stranger.sign(checkpointFacts(facts)), `${id}.${'A'.repeat(43)}`].map((signature) => ({
    ...facts,
    signature,
    created_at: 1,
  }))
}

test('a made-up beginning of the chain, however far on, excuses no missing event: the server that knows the end says so', async () => {
  const { service, app, user } = await buildAudited()
  const { deps } = service
  const [before] = await deps.db('audit_chain')
  service.advance(120)
  for (const forged of forgedBeginnings(deps, 9_000_000_000_000)) {
    await service.login(user.email, app.code)
    const errors: string[] = []
    const logger = Object.assign(Object.create(deps.logger), {
      info: () => undefined,
      error: (_: Json, text: string) => errors.push(text),
    })
    const sealer = startAuditSealer({ ...deps, logger }, 20)
    const cutOffs = async () => (await deps.metrics.auditCutOffs.get()).values[0]!.value
    const refused = async () => (await deps.metrics.auditRefused.get()).values[0]!.value
    const isSealed = () => expect.poll(async () => (await verify(service)).unsealed, { timeout: 60_000 }).toBe(0)
    try {
      await isSealed()
      const known = await cutOffs()
      const { head } = await verify(service)
      await expect.poll(async () => (await deps.metrics.auditHead.get()).values[0]!.value).toBe(head!.position)
      await deps.db.transaction(async (db) => {
        await db('audit_events').where('seal_position', '>', before.position).delete()
        await db('audit_chain').update(before)
        await db('audit_checkpoints').insert(forged)
      })
      await expect.poll(cutOffs).toBe(known + 1)
      await expect.poll(refused).toBe(1)
      expect((await verify(service)).fault).toMatchObject({ subject: 'checkpoint', position: forged.seal_position })
      await deps.db('audit_checkpoints').delete()
      await expect.poll(refused).toBe(0)
      expect(errors).toEqual([expect.stringContaining('are gone'), expect.stringContaining('differ from what the service wrote')])
    } finally {
      await sealer.stop()
    }
  }
})

test('leaving the last event behind, beyond an earlier end of the chain, hides no cut', async () => {
  const { service } = await buildAudited()
  const { db } = service.deps
  const [before] = await db('audit_chain')
  service.advance(120)
  const known = await seal(service)
  await events(service).where('seal_position', '>', before.position).where('seal_position', '<', known.position).delete()
  await db('audit_chain').update(before)
  expect(await isInChain(service.deps, known, known)).toBe(true)
  expect(await isInChain(service.deps, known, await seal(service))).toBe(false)
})

test('a made-up beginning costs a rotation nothing: the true one is signed with the new key once it is alone again', async () => {
  const { service, app, user } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  service.advance(120)
  await seal(service)
  service.advance(11 * 86_400)
  await service.login(user.email, app.code)
  await removeExpired(service.deps)
  const [old] = service.deps.config.encryptionKeys
  const fresh = randomBytes(32)
  const configure = (...keys: [Buffer, ...Buffer[]]) =>
    Object.assign(service.deps, { secretBox: new SecretBox(keys), auditProofs: new AuditProofs(keys) })
  const [forged] = forgedBeginnings(service.deps, 9_000_000_000_000)
  await service.deps.db('audit_checkpoints').insert(forged!)
  configure(fresh, old)
  expect(await seal(service)).toMatchObject({ refused: 1 })
  await service.deps.db('audit_checkpoints').where({ seal: 'x' }).delete()
  expect(await seal(service)).toMatchObject({ refused: 0 })
  configure(fresh)
  expect((await verify(service)).fault).toBeNull()
})

/** Fails if a request that is audited succeeds, or leaves anything behind. */
async function expectNothingUnaudited({
  service,
  app,
  user,
  refreshToken,
}: Awaited<ReturnType<typeof buildAudited>>): Promise<void> {
  const { db } = service.deps
  const rows = () => Promise.all(['audit_events', 'sessions', 'users'].map((table) => db(table).orderBy('id')))
  const before = await rows()
  const fails = (call: Promise<unknown>) => expect(call).rejects.toThrow('500 internal_error')
  await fails(service.login(user.email, app.code))
  await fails(service.login(user.email, app.code, { password: 'a wrong password' }))
  await fails(service.login(user.email, 'no-such-app'))
  await fails(service.call('POST', '/auth/logout', { body: { refresh_token: refreshToken } }))
  await fails(service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Other' } }))
  // One statement writes several events.
  const several = { email: 'several@example.com', password: PASSWORD, roles: ['super_admin'] }
  await fails(service.admin('POST', '/admin/users', { body: several }))
  expect(await rows()).toEqual(before)
}

test('what the database drops without an error, by a trigger or a rule, is not done without its event either', async () => {
  const audited = await buildAudited()
  const { service, app, user } = audited
  const { db } = service.deps
  const allowInserts = await dropAuditEvents(db)
  await expectNothingUnaudited(audited)
  await allowInserts()
  expect((await service.login(user.email, app.code)).status).toBe(200)
  // Seals that are not stored are not claimed either.
  service.advance(120)
  const [chain] = await db('audit_chain')
  const allowUpdates = await dropAuditEvents(db, 'update')
  await expect(seal(service)).rejects.toThrow('the database stored 0 of')
  expect(await db('audit_chain')).toEqual([chain])
  await allowUpdates()
  const allowEnds = await dropAuditEvents(db, 'update', 'audit_chain')
  await expect(seal(service)).rejects.toThrow('did not store the end of the audit chain')
  expect(await db('audit_events').whereNotNull('seal_position').where('seal_position', '>', chain.position)).toEqual([])
  await allowEnds()
  await seal(service)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0 })
  if (testDatabase() === 'sqlite') return
  await db.raw('create rule keep_out as on insert to audit_events do instead nothing')
  await expectNothingUnaudited(audited)
})

test('the part without seals is compared only while the end of the chain is what the service wrote', async () => {
  const { service } = await buildAudited()
  await service.deps.db('audit_chain').update({ adopts_until: 9_000_000_000_000 })
  const { body } = await service.admin('GET', '/admin/audit/verify?cursor=unsealed.')
  expect(body.fault).toMatchObject({ kind: 'changed', subject: 'head' })
})

test('a rotation of AUTH_ENCRYPTION_KEY leaves the chain whole, also when the key before is configured no more', async () => {
  const { service, app, user } = await buildAudited()
  const [old] = service.deps.config.encryptionKeys
  const fresh = randomBytes(32)
  const configure = (...keys: [Buffer, ...Buffer[]]) =>
    Object.assign(service.deps, { secretBox: new SecretBox(keys), auditProofs: new AuditProofs(keys) })
  configure(fresh, old)
  expect((await verify(service)).fault).toBeNull()
  await service.login(user.email, app.code)
  await seal(service)
  expect((await verify(service)).fault).toBeNull()
  configure(fresh)
  await service.login(user.email, app.code)
  service.advance(120)
  await seal(service)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0 })
  const lost = randomBytes(32)
  configure(lost)
  expect((await verify(service)).fault).toMatchObject({ kind: 'unknown_key', subject: 'head' })
  expect(await countUnopenable(service.deps)).toContainEqual({ what: 'audit keys', count: 2 })
  await expect(seal(service)).rejects.toThrow('a key that is not configured')
  // Back to the first key, which takes over what the second one protected.
  configure(old, fresh)
  await seal(service)
  configure(old)
  await service.login(user.email, app.code)
  await seal(service)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0 })
  expect(await countUnopenable(service.deps)).toEqual([])
})

test('whoever has a key that was replaced proves nothing new with it, and moves no end of the chain', async () => {
  const { service, app, user } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  const { db, config } = service.deps
  service.advance(120)
  await seal(service)
  service.advance(11 * 86_400)
  await service.login(user.email, app.code)
  await seal(service)
  await removeExpired(service.deps)
  const [old] = config.encryptionKeys
  const fresh = randomBytes(32)
  const configure = (...keys: [Buffer, ...Buffer[]]) =>
    Object.assign(service.deps, { secretBox: new SecretBox(keys), auditProofs: new AuditProofs(keys) })
  configure(fresh, old)
  await seal(service)
  configure(fresh)
  expect((await verify(service)).fault).toBeNull()

  const thief = new AuditProofs([old])
  const [chain] = await db('audit_chain')
  const [checkpoint] = await db('audit_checkpoints')
  const [last] = (await sealedRows(service)) as [Json]
  const forged = { ...last, id: newId(service.deps.clock()), event: 'login.success', counted_by: null } as Json
  const proven = { ...forged, ...thief.prove(forged as never) }
  const unsealed = { ...proven, seal_position: null, seal: null }
  const insertUnsealed = await attack(service, () => events(service).insert(unsealed))
  expect(insertUnsealed).toMatchObject({ kind: 'unknown_key', event_id: forged.id })
  const position = chain.position + 1
  const seal_ = thief.seal(chain.seal, proven.mac!, position)
  const insertSealed = await attack(service, async () => {
    await events(service).insert({ ...proven, seal_position: position, seal: seal_ })
    const end = { position, seal: seal_ }
    await db('audit_chain').update({ ...end, signature: thief.sign(headFacts({ ...chain, ...end })) })
  })
  expect(insertSealed).toMatchObject({ kind: 'unknown_key', subject: 'head' })
  const begun = { seal_position: last.seal_position, seal: last.seal }
  const moved = await attack(service, () =>
    db('audit_checkpoints').update({ ...begun, signature: thief.sign(checkpointFacts(begun)) }),
  )
  expect(checkpoint.seal_position).toBeGreaterThan(0)
  expect(moved).toMatchObject({ kind: 'unknown_key', subject: 'checkpoint' })
  await events(service).insert(unsealed)
  expect(await seal(service)).toMatchObject({ refused: 1 })
})

test('a chain can be begun anew when its key is lost, as the docs say', async () => {
  const { service, user } = await buildAudited()
  service.advance(120)
  await seal(service)
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  Object.assign(service.deps, { auditProofs: new AuditProofs([randomBytes(32)]) })
  const docs = readFileSync(new URL('../../docs/sealed-audit.md', import.meta.url), 'utf8')
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(docs) ?? []
  const statements = sql.split(';').filter((statement) => statement.trim() !== '')
  expect(statements).toHaveLength(3)
  for (const statement of statements) await service.deps.db.raw(statement)
  service.deps.secretBox = new SecretBox([randomBytes(32)])
  await seal(service)
  const verified = await verify(service)
  expect(verified).toMatchObject({ fault: null, unsealed: 0, adopted: verified.checked })
})

test('events from before the upgrade are taken into the chain in the first hour, and none after it', async () => {
  const service = await buildService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const none = { salt: null, personal_digest: null, mac: null }
  await events(service).update(none)
  expect((await verify(service)).fault).toBeNull()
  await seal(service)
  const adopted = (await sealedRows(service)).length
  expect(await verify(service)).toMatchObject({ fault: null, adopted })
  // A server of the previous version is still running.
  await buildUser(service, app)
  await events(service).whereNull('seal_position').update(none)
  expect((await verify(service)).fault).toBeNull()
  await seal(service)
  expect((await verify(service)).fault).toBeNull()
  const [row] = (await sealedRows(service)) as [Json]
  expect(await attack(service, () => events(service).where({ id: row.id }).update({ event: 'x' }))).toMatchObject({
    event_id: row.id,
  })
  service.advance(3_700)
  const late = { ...row, ...none, id: newId(service.deps.clock()), seal: null, seal_position: null }
  await events(service).insert(late)
  expect(await seal(service)).toMatchObject({ refused: 1 })
  expect((await verify(service)).fault).toMatchObject({ kind: 'inserted', event_id: late.id })
})

test('odd characters, a dry run and a row that counts after it was sealed leave the audit whole', async () => {
  const { service, app, user } = await buildAudited()
  await service.login(user.email, 'no-such-app', { headers: { 'user-agent': 'caf\u00e9 \u{1f512}' } })
  const dry = await service.admin('PATCH', `/admin/apps/${app.id}?dry_run=true`, { body: { name: 'Other' } })
  expect(dry.status).toBe(200)
  const name = 'half \ud83d of a pair'
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { name } })
  service.advance(120)
  await seal(service)
  const counting = () => events(service).where('count', '>', 1)
  const sealed = await counting()
  service.advance(-240)
  for (let n = 0; n < 3; n++) await service.login(user.email, 'no-such-app')
  service.advance(600)
  await seal(service)
  expect((await counting()).filter(({ id }) => sealed.some((row) => row.id === id))).toEqual(sealed)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0 })
})

test('a long log is sealed in portions, with turns for others in between', async () => {
  const { service } = await buildAudited()
  await addEvents(service, 5_000)
  let turns = 0
  let isSealing = true
  const count = () => {
    turns += 1
    if (isSealing) setImmediate(count)
  }
  setImmediate(count)
  const { sealed } = await seal(service)
  isSealing = false
  expect(sealed).toBeGreaterThanOrEqual(5_000)
  expect(turns).toBeGreaterThanOrEqual(10)
})

test('a log of several pages is compared page by page', async () => {
  const service = await buildService()
  await addEvents(service, 2_300)
  expect(await verify(service)).toMatchObject({ fault: null })
  await seal(service)
  const verified = await verify(service)
  expect(verified).toMatchObject({ fault: null, unsealed: 0 })
  expect(verified.checked).toBeGreaterThanOrEqual(2_300)
  for (const position of [1_000, 1_001, 2_100].slice(0, samples(3))) {
    expect(await attack(service, () => events(service).where({ seal_position: position }).update({ ip: 'x' }))).toMatchObject({
      position,
    })
    expect(await attack(service, () => events(service).where({ seal_position: position }).delete())).toMatchObject({ position })
  }
})
