// Changes to the audit in the database, past the service, are found: docs/operate/sealed-audit.md.
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { AuditProofs, tagOf } from '../../packages/server/src/lib/audit-proof.ts'
import { firstSnapshot, parseSnapshot, sees } from '../../packages/server/src/lib/feed-cursors.ts'
import { SecretBox } from '../../packages/server/src/lib/secrets.ts'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { AuditEvent } from '../../packages/server/src/models/audit-event.ts'
import { warnOfGrowth } from '../../packages/server/src/resources/audit/audit.ts'
import { checkpointFacts, hasKeyOfAudit, headFacts, isInChain } from '../../packages/server/src/resources/audit/chain.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { countUnopenable } from '../../packages/server/src/resources/system/system.ts'
import { eraseUser } from '../../packages/server/src/resources/user-deletions/user-deletions.ts'
import { startAuditSealer } from '../../packages/server/src/workers/audit-sealer.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { dropAuditEvents } from '../support/drop-audit-events.ts'
import { becomeFirst, becomeFormer } from '../support/former-audit.ts'
import { samples } from '../support/lane.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type TestService, testDatabase } from '../support/service.ts'

interface Verified {
  checked: number
  adopted: number
  unsealed: number
  fault: Json | null
  head: { position: number; seal: string; batch: number } | null
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
const batches = (service: TestService): Promise<Json[]> => service.deps.db('audit_batches').orderBy('number')
/** In the order of their positions. */
async function sealedRows(service: TestService): Promise<Json[]> {
  const [chain] = await service.deps.db('audit_chain')
  const rows: Json[] = await events(service).where('xid', '>', 0).orderBy(['xid', 'id'])
  return rows.filter(({ xid }) => sees(parseSnapshot(chain.upto), xid))
}
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
    const row = { ...facts, ...personal, request_id: `r${index}`, at }
    return { ...row, ...deps.auditProofs.prove({ ...row, count: 1, counted_by: null }) }
  })
  for (let start = 0; start < rows.length; start += 500) await AuditEvent.append(deps.db, rows.slice(start, start + 500))
}

/** Takes portions, because the number of values of a statement is limited. */
async function insertAll({ deps }: TestService, table: string, rows: object[]): Promise<void> {
  for (let start = 0; start < rows.length; start += 500) await deps.db(table).insert(rows.slice(start, start + 500))
}

/** Changes the database, returns the fault that verify finds, and restores the rows. */
async function attack(service: TestService, change: () => Promise<unknown>): Promise<Json | null> {
  const { db } = service.deps
  const tables = ['audit_events', 'audit_batches', 'audit_chain', 'audit_checkpoints']
  const before = await Promise.all(tables.map((table) => db(table)))
  await change()
  const { fault } = await verify(service)
  for (const [index, table] of tables.entries()) {
    await db(table).delete()
    await insertAll(service, table, before[index]!)
  }
  return fault
}

/** Restores an earlier end, with its signature, and deletes what was sealed or written since. */
async function cutOff({ deps: { db } }: TestService, chain: Json): Promise<void> {
  await db('audit_events').where('xid', '>=', parseSnapshot(chain.upto).xmax).delete()
  await db('audit_batches').where('number', '>', chain.batch).delete()
  await db('audit_chain').update(chain)
}

/** Inserts a row where the next one of the service would be. */
async function insertNext(service: TestService, { xid: _, ...row }: Json): Promise<void> {
  const [{ next }] = (await events(service).max({ next: 'xid' })) as [Json]
  await events(service).insert({ ...row, ...(testDatabase() === 'sqlite' && { xid: next + 1 }) })
}

/** In the order of the chain of former versions. */
const chainedRows = (service: TestService): Promise<Json[]> =>
  events(service).whereNotNull('seal_position').orderBy('seal_position')

const different: Record<string, (value: Json[string]) => unknown> = {
  id: () => newId(Date.now()),
  actor_id: () => randomUUID(),
  user_id: () => randomUUID(),
  app_id: () => randomUUID(),
  erased_by: () => randomUUID(),
  actor_type: (value) => (value === 'system' ? 'user' : 'system'),
  count: (value) => value + 1,
  at: (value) => value + 1,
  xid: (value) => value + 1_000_000,
  seal_position: (value) => (value ?? 0) + 1_000,
}
const otherText = (value: unknown) => `${value ?? ''}x`

test('the service writes an intact audit, and verify counts its sealed and unsealed events', async () => {
  const { service } = await buildAudited()
  const verified = await verify(service)
  expect(verified).toMatchObject({ fault: null, adopted: 0 })
  const [{ count }] = await events(service).where({ reason: 'unknown_app' }).orWhere('count', '>', 1).select('count')
  expect(count).toBe(3)
  expect(verified.checked).toBe(Number((await events(service).count({ n: '*' }))[0]!.n))
  expect(verified.unsealed).toBeGreaterThan(1)
  const rows = await sealedRows(service)
  expect(rows.length).toBeGreaterThan(3)
  const last = (await batches(service)).at(-1)!
  expect(verified.head).toMatchObject({ position: rows.length, batch: last.number, seal: last.seal })
  // Nothing is written into a sealed event.
  expect(rows.filter(({ seal, seal_position }) => seal !== null || seal_position !== null)).toEqual([])
})

test('verify names the row if any column of it is changed by SQL', async () => {
  const { service, app, user } = await buildAudited()
  const headers = { 'user-agent': 'Browser/1' }
  await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD, app_code: app.code }, headers })
  await seal(service)
  await service.login(user.email, app.code)
  const rows: Json[] = await events(service).orderBy('id')
  const columns = Object.keys(rows[0]!)
  expect(columns).toHaveLength(24)
  const sealed = await sealedRows(service)
  // A login in a browser fills what most events fill, and leaves empty what most leave empty. Its digest has a form of its own.
  const [counted, plain] = [rows.find(({ count }) => count > 1)!, rows.find(({ user_agent: agent }) => agent === 'Browser/1')!]
  expect(sealed.map(({ id }) => id)).toContain(plain.id)
  const chosen = [rows[0]!, rows[Math.floor(rows.length / 2)]!, counted, plain, rows.at(-1)!]
  for (const row of chosen) {
    for (const column of columns) {
      const values = [(different[column] ?? otherText)(row[column])]
      if (row[column] !== null && !['id', 'event', 'actor_type', 'count', 'at', 'xid'].includes(column)) values.push(null)
      const isSealed = sealed.some(({ id }) => id === row.id)
      // On SQLite a row that is not sealed yet is sealed wherever its number is.
      if (column === 'xid' && !isSealed && testDatabase() === 'sqlite') continue
      for (const value of values) {
        const fault = await attack(service, () =>
          events(service)
            .where({ id: row.id })
            .update({ [column]: value }),
        )
        const where = `${column} of ${row.event} to ${value}`
        expect(fault, where).not.toBeNull()
        // If a row has lost its place, verify may name the gap. For every other change it names the row itself.
        if (!['id', 'xid', 'seal_position'].includes(column)) expect([where, fault!.event_id]).toEqual([where, row.id])
      }
    }
  }
  expect((await verify(service)).fault).toBeNull()
})

test('verify names a row with a value of another type, and such a row does not stop the sealer', async () => {
  if (testDatabase() !== 'sqlite') return
  const { service } = await buildAudited()
  const row = (await sealedRows(service)).find(({ ip }) => ip !== null)!
  const asBytes = { ip: Buffer.from(row.ip) }
  expect(await attack(service, () => events(service).where({ id: row.id }).update(asBytes))).toMatchObject({ event_id: row.id })
  const { id: _, ...copy } = row
  await insertNext(service, { ...copy, ...asBytes, id: newId(Date.now()) })
  await addEvents(service, 3)
  expect(await seal(service)).toMatchObject({ refused: 1 })
})

test('verify reports a removed sealed row: the first, a middle one and the last', async () => {
  const { service } = await buildAudited()
  const rows = await sealedRows(service)
  for (const index of [0, Math.floor(rows.length / 2), rows.length - 1]) {
    const fault = await attack(service, () => events(service).where({ id: rows[index]!.id }).delete())
    expect(fault).toMatchObject({ kind: 'removed', subject: 'event', position: index + 1 })
  }
  const all = await attack(service, () =>
    events(service)
      .whereIn(
        'id',
        rows.map(({ id }) => id),
      )
      .delete(),
  )
  expect(all).toMatchObject({ kind: 'removed', position: 1 })
})

test('verify reports a changed column of a batch, a removed batch, and a batch that changed places', async () => {
  const { service } = await buildAudited()
  const { db } = service.deps
  service.advance(120)
  await seal(service)
  const all = await batches(service)
  expect(all.length).toBeGreaterThan(1)
  const [first, second] = all as [Json, Json]
  for (const batch of [first, all.at(-1)!]) {
    for (const column of Object.keys(batch)) {
      const value = typeof batch[column] === 'number' ? batch[column] + 1_000 : otherText(batch[column])
      // A number after the end of a snapshot is no part of it.
      const other = column === 'upto' ? firstSnapshot : value
      const fault = await attack(service, () =>
        db('audit_batches')
          .where({ number: batch.number })
          .update({ [column]: other }),
      )
      expect(fault, `${column} of batch ${batch.number}`).not.toBeNull()
    }
    const tags = batch.tags.slice(8) + batch.tags.slice(0, 8)
    const reordered = await attack(service, () => db('audit_batches').where({ number: batch.number }).update({ tags }))
    if (batch.count > 1) expect(reordered).toMatchObject({ batch: batch.number })
    const lost = await attack(service, () => db('audit_batches').where({ number: batch.number }).delete())
    expect(lost).toMatchObject({ kind: 'removed', subject: 'batch', batch: batch.number })
  }
  const place = ({ number: _, ...rest }: Json) => rest
  const swapped = await attack(service, async () => {
    await db('audit_batches').where({ number: first.number }).update(place(second))
    await db('audit_batches').where({ number: second.number }).update(place(first))
  })
  expect(swapped).toMatchObject({ subject: 'batch', batch: first.number })
  const copied = await attack(service, () => db('audit_batches').insert({ ...second, number: all.length + 1 }))
  expect(copied).not.toBeNull()
  // The batch is taken apart: its events look as if they were not sealed yet, and the sealer seals them again.
  const apart = await attack(service, async () => {
    const [chain] = await db('audit_chain')
    const last = all.at(-1)!
    await db('audit_batches').where({ number: last.number }).delete()
    const before = all.at(-2)!
    await db('audit_chain').update({ ...chain, batch: before.number, batch_seal: before.seal, upto: before.upto })
  })
  expect(apart).toMatchObject({ kind: 'changed', subject: 'head' })
})

test('verify reports an event that was moved to another batch as removed from its own', async () => {
  const { service } = await buildAudited()
  service.advance(120)
  await seal(service)
  const rows = await sealedRows(service)
  const moved = await attack(service, () =>
    events(service)
      .where({ id: rows[0]!.id })
      .update({ xid: rows.at(-1)!.xid }),
  )
  expect(moved).toMatchObject({ kind: 'removed', position: 1, batch: 1 })
  const back = await attack(service, () =>
    events(service)
      .where({ id: rows.at(-1)!.id })
      .update({ xid: rows[0]!.xid }),
  )
  expect(back).toMatchObject({ batch: 1 })
  const out = await attack(service, () => events(service).where({ id: rows[1]!.id }).update({ xid: -1 }))
  expect(out).toMatchObject({ kind: 'removed', position: 2 })
  const former = await attack(service, () => events(service).where({ id: rows[1]!.id }).update({ xid: 0 }))
  expect(former).toMatchObject({ kind: 'removed', position: 2 })
})

test('verify names an inserted row, copied or forged, with a seal and without', async () => {
  const { service } = await buildAudited()
  const rows = await sealedRows(service)
  const last = rows.at(-1)!
  const end = { seal_position: 1, seal: 'x' }
  const unsealed = { xid: last.xid + 1 }
  const former = { xid: 0 }
  const forged = { ...last, id: newId(service.deps.clock()), event: 'login.success', counted_by: null }
  const noProof = { salt: null, personal_digest: null, mac: null }
  const inserted = [
    { ...forged, ...unsealed },
    { ...forged, ...end },
    { ...forged, ...end, ...noProof },
    { ...forged, ...unsealed, ...noProof },
    { ...forged, ...former },
    { ...forged, ...former, ...noProof },
    { ...forged, ...former, ...end },
    { ...forged, xid: -1 },
    forged,
    { ...rows[0]!, ...unsealed, id: newId(service.deps.clock()), counted_by: null },
    { ...forged, ...unsealed, ...new AuditProofs([randomBytes(32)]).prove(forged as never) },
  ]
  for (const row of inserted) {
    const fault = await attack(service, () => events(service).insert(row))
    expect(fault, JSON.stringify(row)).toMatchObject({ subject: 'event', event_id: row.id })
  }
  // A row that the service proved, for a transaction that it rolled back.
  const genuine = { ...last, id: newId(service.deps.clock()), counted_by: null } as Json
  const proven = { ...genuine, ...service.deps.auditProofs.prove(genuine as never) }
  expect(await attack(service, () => events(service).insert(proven))).toMatchObject({
    ...{ kind: 'inserted', subject: 'event', event_id: genuine.id },
  })
  // The sealer looks once at what the service did not write, and seals the rest.
  await insertNext(service, forged)
  service.advance(120)
  expect(await seal(service)).toMatchObject({ refused: 1 })
  expect(await seal(service)).toMatchObject({ refused: 0, sealed: 0 })
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', position: null, event_id: forged.id })
})

test('verify names two rows that changed places', async () => {
  const { service } = await buildAudited()
  const rows = await sealedRows(service)
  const one = rows[0]!
  const other = rows.find(({ xid }) => xid !== one.xid)!
  const swapped = await attack(service, async () => {
    await events(service).where({ id: one.id }).update({ xid: other.xid })
    await events(service).where({ id: other.id }).update({ xid: one.xid })
  })
  expect(swapped).toMatchObject({ kind: 'removed', position: 1 })
})

test('verify reports changed marks of the beginning and the end of the chain, and the log reports a cut-off end', async () => {
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
    ['batch', chain.batch - 1],
    ['batch_position', chain.batch_position - 1],
    ['batch_seal', otherText(chain.batch_seal)],
    ['upto', '1:9000000000000:'],
    ['upto', null],
    ['shift', chain.shift + 1],
    ['former_end', chain.former_end + 1],
    ['former_closed', 1 - chain.former_closed],
  ]) {
    const fault = await attack(service, () => db('audit_chain').update({ [column]: value }))
    expect(fault, column).toMatchObject({ kind: 'changed', subject: 'head' })
  }
  const early = { seal_position: 2, seal: 'x', batch: 1, upto: '1:5:', signature: 'x', created_at: 1 }
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
  await cutOff(service, chain)
  expect((await verify(service)).fault).toBeNull()
  const fault = (await verify(service, `${later!.position}:${later!.seal}`)).fault
  expect(fault).toMatchObject({ kind: 'removed', position: head!.position + 1 })
})

test('erasing a user leaves the chain intact and removes the salts, and a sealed event lists the rows', async () => {
  const { service, app, user } = await buildAudited()
  await service.admin('PATCH', `/admin/users/${user.id}`, {
    body: { first_name: 'G' },
    headers: { 'x-audit-reason': user.email },
  })
  service.advance(120)
  await seal(service)
  await service.login(user.email, app.code)
  await service.admin('DELETE', `/admin/users/${user.id}`)
  // So that the event that lists the rows is in a batch without any of them.
  await seal(service)
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

test('erasing a user does not hide a change to a row', async () => {
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

test('retention moves the beginning of the chain, and verify names what is put back before it', async () => {
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
  expect(first.id).not.toBe(gone.id)
  expect(checkpoint.seal_position).toBeGreaterThan(3)
  expect((await batches(service))[0]).toMatchObject({ number: checkpoint.batch + 1 })
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

test('retention does not delete an event whose time was set back', async () => {
  const { service, user, app } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  service.advance(120)
  await seal(service)
  const rows = await sealedRows(service)
  const first = rows.slice(0, 3).map(({ id }) => id)
  await events(service).whereIn('id', first).update({ at: 1 })
  await removeExpired(service.deps)
  expect(await sealedRows(service)).toHaveLength(rows.length)
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', batch: 1, event_id: rows[0]!.id })
  // An event whose time was set forward does not stay forever either: it is deleted with the next batch that is whole.
  await events(service).where({ id: first[1] }).update({ at: 9_000_000_000_000 })
  service.advance(11 * 86_400)
  await service.login(user.email, app.code)
  await seal(service)
  await removeExpired(service.deps)
  expect((await sealedRows(service)).map(({ id }) => id)).not.toContain(first[1])
  expect((await verify(service)).fault).toBeNull()
  // Moving the beginning gets nothing deleted either.
  await service.deps.db('audit_checkpoints').update({ seal_position: 1, seal: 'x' })
  service.advance(20 * 86_400)
  const left = await sealedRows(service)
  await removeExpired(service.deps)
  expect(await sealedRows(service)).toEqual(left)
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', subject: 'checkpoint' })
})

test('a server notices that events were cut off after it had sealed them', async () => {
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
      const { seal_position: position, seal, batch, upto } = checkpoint
      await db('audit_events').where('xid', '>=', parseSnapshot(upto).xmax).delete()
      await db('audit_batches').where('number', '>', batch).delete()
      const end = { ...before, batch, batch_position: position, batch_seal: seal, upto }
      await db('audit_chain').update({ ...end, signature: deps.auditProofs.sign(headFacts(end)) })
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
  const facts = { seal_position: position, seal: 'x', batch: position, upto: '1:9000000000000:' }
  const { id } = deps.auditProofs.current
  const stranger = new AuditProofs([randomBytes(32)])
  return ['', 'x', `${id}.x`, `${id}.`, stranger.sign(checkpointFacts(facts)), `${id}.${'A'.repeat(43)}`].map((signature) => ({
    ...facts,
    signature,
    created_at: 1,
  }))
}

test('a forged beginning of the chain excuses no missing event, and the server that knows the end reports it', async () => {
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
        await db('audit_events').where('xid', '>=', parseSnapshot(before.upto).xmax).delete()
        await db('audit_batches').where('number', '>', before.batch).delete()
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

test('a cut is found even if the last batch is left behind, beyond an earlier end', async () => {
  const { service } = await buildAudited()
  const { db } = service.deps
  const [before] = await db('audit_chain')
  service.advance(120)
  const known = await seal(service)
  await events(service).where('xid', '>=', parseSnapshot(before.upto).xmax).delete()
  await db('audit_chain').update(before)
  expect(await isInChain(service.deps, known, known)).toBe(true)
  expect(await isInChain(service.deps, known, { ...known, position: before.batch_position, batch: before.batch })).toBe(false)
  expect((await verify(service)).fault).toMatchObject({ subject: 'head' })
})

test('a forged beginning costs a key rotation nothing: once it is removed, the true one is signed with the new key', async () => {
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
  expect(await seal(service)).toMatchObject({ refusedBeginnings: 1 })
  await service.deps.db('audit_checkpoints').where({ seal: 'x' }).delete()
  expect(await seal(service)).toMatchObject({ refusedBeginnings: 0 })
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

test('an action fails if a trigger or a rule silently drops its audit event, and so does sealing', async () => {
  const audited = await buildAudited()
  const { service, app, user } = audited
  const { db } = service.deps
  const allowInserts = await dropAuditEvents(db)
  await expectNothingUnaudited(audited)
  await allowInserts()
  expect((await service.login(user.email, app.code)).status).toBe(200)
  // Seals that are not stored are not claimed either, nor is the number of refusals.
  expect((await service.login(user.email, 'no-such-app')).status).toBe(404)
  service.advance(120)
  const [chain] = await db('audit_chain')
  const allowUpdates = await dropAuditEvents(db, 'update')
  await expect(seal(service)).rejects.toThrow('the database stored 0 of')
  expect(await db('audit_chain')).toEqual([chain])
  await allowUpdates()
  const allowBatches = await dropAuditEvents(db, 'insert', 'audit_batches')
  await expect(seal(service)).rejects.toThrow('did not store the batch')
  expect(await db('audit_chain')).toEqual([chain])
  await allowBatches()
  const allowEnds = await dropAuditEvents(db, 'update', 'audit_chain')
  await expect(seal(service)).rejects.toThrow('did not store the end of the audit chain')
  expect((await batches(service)).at(-1)?.number ?? 0).toBe(chain.batch)
  await allowEnds()
  await seal(service)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0 })
  if (testDatabase() === 'sqlite') return
  await db.raw('create rule keep_out as on insert to audit_events do instead nothing')
  await expectNothingUnaudited(audited)
})

test('verify compares the unsealed part only while the end of the chain is genuine', async () => {
  const { service } = await buildAudited()
  await service.deps.db('audit_chain').update({ adopts_until: 9_000_000_000_000 })
  const { body } = await service.admin('GET', '/admin/audit/verify?cursor=unsealed.')
  expect(body.fault).toMatchObject({ kind: 'changed', subject: 'head' })
})

test('a rotation of AUTH_ENCRYPTION_KEY leaves the chain intact, even without the previous key', async () => {
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

test('a replaced key proves nothing new and cannot move the end of the chain', async () => {
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
  const proven: Json = { ...forged, ...thief.prove(forged as never) }
  const unsealed = { ...proven, xid: parseSnapshot(chain.upto).xmax }
  const insertUnsealed = await attack(service, () => events(service).insert(unsealed))
  expect(insertUnsealed).toMatchObject({ kind: 'unknown_key', event_id: forged.id })
  const insertFormer = await attack(service, () => events(service).insert({ ...proven, xid: 0 }))
  expect(insertFormer).toMatchObject({ kind: 'unknown_key', event_id: forged.id })
  // Into the last batch, which gets another seal, and so does the end.
  const insertSealed = await attack(service, async () => {
    await events(service).insert(proven)
    const batch = (await batches(service)).at(-1)!
    const count = batch.count + 1
    const facts = { ...batch, count, position: batch.position + 1, tags: batch.tags + tagOf(proven.mac) } as never
    const hmac = thief.beginBatch()!
    for (const { mac } of (await sealedRows(service)).slice(-count)) hmac.add(mac)
    const resealed: Json = { ...(facts as Json), seal: hmac.over(chain.batch_seal, facts) }
    await db('audit_batches').where({ number: batch.number }).update(resealed)
    const end = { ...chain, batch_position: resealed.position, batch_seal: resealed.seal }
    await db('audit_chain').update({ ...end, signature: thief.sign(headFacts(end)) })
  })
  expect(insertSealed).toMatchObject({ kind: 'unknown_key', subject: 'head' })
  const begun = { seal_position: chain.batch_position, seal: chain.batch_seal, batch: chain.batch, upto: chain.upto }
  const moved = await attack(service, () =>
    db('audit_checkpoints').update({ ...begun, signature: thief.sign(checkpointFacts(begun)) }),
  )
  expect(checkpoint.seal_position).toBeGreaterThan(0)
  expect(moved).toMatchObject({ kind: 'unknown_key', subject: 'checkpoint' })
  await events(service).insert(unsealed)
  expect(await seal(service)).toMatchObject({ refused: 1 })
})

test('the statements in the docs start a new chain after its key is lost', async () => {
  const { service, user } = await buildAudited()
  service.advance(120)
  await seal(service)
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  Object.assign(service.deps, { auditProofs: new AuditProofs([randomBytes(32)]) })
  const docs = readFileSync(new URL('../../docs/operate/sealed-audit.md', import.meta.url), 'utf8')
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(docs) ?? []
  const statements = sql.split(';').filter((statement) => statement.trim() !== '')
  expect(statements).toHaveLength(4)
  for (const statement of statements) await service.deps.db.raw(statement)
  service.deps.secretBox = new SecretBox([randomBytes(32)])
  await seal(service)
  const verified = await verify(service)
  expect(verified).toMatchObject({ fault: null, unsealed: 0, adopted: verified.checked })
})

test('events of the first version are sealed without a time limit, and new ones without a proof for an hour', async () => {
  const service = await buildService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const none = { salt: null, personal_digest: null, mac: null }
  await becomeFirst(service)
  expect((await verify(service)).fault).toBeNull()
  await seal(service)
  const adopted = (await chainedRows(service)).length
  expect(await verify(service)).toMatchObject({ fault: null, adopted })
  // A server of the first version is still running.
  await buildUser(service, app)
  const isNew = (query: Json) => query.where('xid', '>', 0)
  await isNew(events(service)).update(none)
  expect((await verify(service)).fault).toBeNull()
  await seal(service)
  const written = (await isNew(events(service))).length
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0, adopted: adopted + written })
  const [row] = (await chainedRows(service)) as [Json]
  expect(await attack(service, () => events(service).where({ id: row.id }).update({ event: 'x' }))).toMatchObject({
    event_id: row.id,
  })
  service.advance(3_700)
  const late = { ...row, ...none, id: newId(service.deps.clock()), seal: null, seal_position: null }
  // Nothing is added to the events of former versions when all are sealed.
  expect(await attack(service, () => events(service).insert(late))).toMatchObject({ kind: 'inserted', event_id: late.id })
  await insertNext(service, late as Json)
  expect(await seal(service)).toMatchObject({ refused: 1 })
  expect((await verify(service)).fault).toMatchObject({ kind: 'inserted', event_id: late.id })
})

test('verify compares the chain of a former version as before, and batches continue it', async () => {
  const { service, app, user } = await buildAudited()
  service.advance(120)
  await becomeFormer(service.deps)
  const former = (await chainedRows(service)).length
  expect(former).toBeGreaterThan(3)
  const [before] = await service.deps.db('audit_chain')
  // A few that the former version has not sealed.
  const open = await events(service).whereNull('seal_position')
  expect(open.length).toBeGreaterThan(0)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: open.length })
  await service.login(user.email, app.code)
  await seal(service)
  // The next round closes the chain.
  await seal(service)
  const verified = await verify(service, `${before.position}:${before.seal}`)
  expect(verified).toMatchObject({ fault: null, unsealed: 0, head: { batch: 1 } })
  expect(verified.head!.position).toBe((await events(service)).length)
  const rows = await chainedRows(service)
  expect(rows).toHaveLength(former + open.length)
  for (const row of [rows[0]!, rows[former]!, rows.at(-1)!]) {
    const changed = await attack(service, () => events(service).where({ id: row.id }).update({ ip: '203.0.113.9' }))
    expect(changed).toMatchObject({ kind: 'changed', position: row.seal_position, event_id: row.id })
    const lost = await attack(service, () => events(service).where({ id: row.id }).delete())
    expect(lost).toMatchObject({ kind: 'removed', position: row.seal_position })
    const moved = await attack(service, () => events(service).where({ id: row.id }).update({ xid: 1_000_000 }))
    expect(moved).toMatchObject({ position: row.seal_position })
  }
  const [one, other] = rows as [Json, Json]
  const place = ({ seal_position, seal }: Json) => ({ seal_position, seal })
  const swapped = await attack(service, async () => {
    await events(service).where({ id: one.id }).update({ seal_position: null })
    await events(service).where({ id: other.id }).update(place(one))
    await events(service).where({ id: one.id }).update(place(other))
  })
  expect(swapped).toMatchObject({ kind: 'changed', position: 1, event_id: other.id })
  const tail = await attack(service, () => events(service).where('seal_position', '>', former).delete())
  expect(tail).toMatchObject({ kind: 'removed', position: former + 1 })
  const unsealed = await attack(service, () => events(service).where({ id: one.id }).update({ seal_position: null, seal: null }))
  expect(unsealed).toMatchObject({ kind: 'removed', position: 1 })
})

test('an upgrade does not hide a change to the chain of a former version', async () => {
  const { service } = await buildAudited()
  service.advance(120)
  await becomeFormer(service.deps)
  const [row] = (await chainedRows(service)) as [Json]
  await events(service).where({ id: row.id }).update({ ip: '203.0.113.9' })
  await seal(service)
  await seal(service)
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', position: 1, event_id: row.id })
  await service.deps.db('audit_chain').update({ position: row.seal_position + 1 })
  await expect(seal(service)).rejects.toThrow('not what was written')
})

test('a row without a proof that is added to those of the first version is reported as inserted', async () => {
  const service = await buildService()
  await addEvents(service, 3)
  await becomeFirst(service)
  // The first server of this version starts.
  expect(await hasKeyOfAudit(service.deps)).toBe(true)
  const [row] = await events(service)
  await events(service).insert({ ...row, id: newId(service.deps.clock()) })
  await seal(service)
  await seal(service)
  expect((await verify(service)).fault).toMatchObject({ kind: 'inserted' })
})

test('retention deletes the chain of a former version from its beginning, and then batches', async () => {
  const { service, app, user } = await buildAudited({ AUTH_AUDIT_RETENTION_DAYS: '10' })
  service.advance(120)
  await becomeFormer(service.deps)
  await seal(service)
  await seal(service)
  service.advance(9 * 86_400)
  await service.login(user.email, app.code)
  await seal(service)
  service.advance(2 * 86_400)
  const [first] = (await chainedRows(service)) as [Json]
  // Somebody has given an event of a batch a place in that chain.
  const placed = () => events(service).where('xid', '>', 0).orderBy('xid').limit(1)
  const [{ id }] = await placed()
  await events(service).where({ id }).update({ seal_position: 1_000, seal: 'x' })
  await removeExpired(service.deps)
  expect((await chainedRows(service)).map((row) => row.id)).toEqual([id])
  expect((await verify(service)).fault).toMatchObject({ kind: 'changed', batch: 1, event_id: id })
  await events(service).where({ id }).update({ seal_position: null, seal: null })
  expect((await service.deps.db('audit_checkpoints'))[0].batch).toBeNull()
  expect((await verify(service)).fault).toBeNull()
  expect(await attack(service, () => events(service).insert(first))).toMatchObject({ kind: 'inserted', event_id: first.id })
  service.advance(20 * 86_400)
  await removeExpired(service.deps)
  expect((await service.deps.db('audit_checkpoints'))[0].batch).toBe(1)
  expect((await verify(service)).fault).toBeNull()
  expect(await attack(service, () => events(service).insert(first))).toMatchObject({ kind: 'inserted', event_id: first.id })
  await service.login(user.email, app.code)
  await seal(service)
  expect(await verify(service)).toMatchObject({ fault: null, unsealed: 0, head: { batch: 2 } })
})

test('odd characters, a dry run and refusals counted after sealing leave the audit intact', async () => {
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

test('a long log is sealed in portions, with turns for other work in between', async () => {
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

test('verify compares a log of several pages page by page', async () => {
  const service = await buildService()
  await hasKeyOfAudit(service.deps)
  await addEvents(service, 2_300)
  expect(await verify(service)).toMatchObject({ fault: null })
  await seal(service)
  const verified = await verify(service)
  expect(verified).toMatchObject({ fault: null, unsealed: 0 })
  expect(verified.checked).toBeGreaterThanOrEqual(2_300)
  const rows = await sealedRows(service)
  for (const position of [1_000, 1_001, 2_100].slice(0, samples(3))) {
    const { id } = rows[position - 1]!
    expect(await attack(service, () => events(service).where({ id }).update({ ip: 'x' }))).toMatchObject({ event_id: id })
    expect(await attack(service, () => events(service).where({ id }).delete())).toMatchObject({ position })
  }
})

test('a start in production logs how much space the audit takes, and how much a year adds', async () => {
  const { service, app, user } = await buildAudited()
  const { deps } = service
  service.advance(120)
  await seal(service)
  service.advance(86_400)
  for (let n = 0; n < 20; n++) await service.login(user.email, app.code)
  await seal(service)
  const lines: string[] = []
  const logger = Object.assign(Object.create(deps.logger), { warn: (text: string) => lines.push(text) })
  await warnOfGrowth({ ...deps, logger, config: { ...deps.config, production: true } })
  expect(lines).toEqual([expect.stringMatching(/they take \d+ MB now, and at the present rate \d+ MB more in a year/)])
  await warnOfGrowth({ ...deps, logger })
  expect(lines).toHaveLength(1)
})

test('verify resumes from the batch of an earlier run, and compares that batch with the noted head', async () => {
  const { service, app, user } = await buildAudited()
  const { head } = await verify(service)
  const noted = `${head!.position}:${head!.seal}`
  service.advance(120)
  await service.login(user.email, app.code)
  await seal(service)
  const since = async (batch: number, known: string) => {
    const query = new URLSearchParams({ cursor: `batch.${batch}`, head: known })
    return (await service.admin('GET', `/admin/audit/verify?${query}`)).body
  }
  const rows = await sealedRows(service)
  const page = await since(head!.batch, noted)
  expect(page).toMatchObject({ fault: null, checked: rows.length - head!.position })
  // What was compared then is not read again.
  await events(service).where({ id: rows[0]!.id }).update({ ip: 'x' })
  expect((await since(head!.batch, noted)).fault).toBeNull()
  // Another history under the same number.
  expect((await since(head!.batch, `${head!.position}:other`)).fault).toMatchObject({ kind: 'changed', subject: 'head' })
  await events(service)
    .where({ id: rows.at(-1)!.id })
    .update({ ip: 'x' })
  expect((await since(head!.batch, noted)).fault).toMatchObject({ kind: 'changed', event_id: rows.at(-1)!.id })
})
