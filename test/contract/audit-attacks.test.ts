// What somebody who can write to the database has tried to hide from `audit verify`: docs/operate/sealed-audit.md.
import { expect, test } from 'vitest'
import { hasKeyOfAudit } from '../../packages/server/src/resources/audit/chain.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type TestService, testDatabase } from '../support/service.ts'

const tables = ['audit_events', 'audit_batches', 'audit_chain'] as const

/** Three batches, each with a login. */
async function buildAudited(): Promise<{ service: TestService; login: () => Promise<void>; credentials: Json }> {
  const service = await buildService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const login = async () => {
    expect((await service.login(user.email, app.code)).status).toBe(200)
    await sealEvents(service.deps)
  }
  await sealEvents(service.deps)
  await login()
  await login()
  return { service, login, credentials: { email: user.email, password: PASSWORD, app_code: app.code } }
}

/** The last page of a comparison of everything, or of what is after a noted batch. */
async function verify(service: TestService, noted: { batch?: number; head?: string } = {}): Promise<Json> {
  let cursor = noted.batch === undefined ? undefined : `batch.${noted.batch}`
  for (;;) {
    const { head } = noted
    const query = new URLSearchParams({ ...(cursor !== undefined && { cursor }), ...(head !== undefined && { head }) })
    const { status, body } = await service.admin('GET', `/admin/audit/verify?${query}`)
    expect(status).toBe(200)
    if (body.next_cursor === null) return body
    cursor = body.next_cursor
  }
}

async function removeSeals({ deps: { db } }: TestService): Promise<void> {
  await db('audit_chain').delete()
  await db('audit_batches').delete()
}

/** Changes the database, returns the fault that verify finds, and restores the rows. */
async function attack(service: TestService, change: () => Promise<unknown>): Promise<Json | null> {
  const { db } = service.deps
  const before = await Promise.all(tables.map((table) => db(table)))
  await change()
  const { fault } = await verify(service)
  for (const [index, table] of tables.entries()) {
    await db(table).delete()
    for (const row of before[index]!) await db(table).insert(row)
  }
  return fault
}

test('text after a NUL is found as a change', async () => {
  if (testDatabase() !== 'sqlite') return
  const { service, credentials } = await buildAudited()
  const { db } = service.deps
  // What a browser does has a user agent. The batch has another digest of an event with all of the usual columns.
  const headers = { 'user-agent': 'Mozilla/5.0' }
  expect((await service.call('POST', '/auth/login', { body: credentials, headers })).status).toBe(200)
  await sealEvents(service.deps)
  const rows: Json[] = await db('audit_events').where({ event: 'login.success' })
  expect(rows.filter(({ user_agent }) => user_agent !== null)).toHaveLength(1)
  for (const row of rows) {
    for (const name of ['id', 'event', 'user_id', 'app_id', 'ip', 'user_agent', 'request_id', 'salt', 'personal_digest', 'mac']) {
      const tail = () =>
        db('audit_events')
          .where({ id: row.id })
          .update({ [name]: `${row[name]}\0 and more` })
      expect(await attack(service, tail), name).toMatchObject({ subject: 'event', batch: expect.any(Number) })
    }
  }
  expect((await verify(service)).fault).toBeNull()
})

test('bytes and text of a type that the service does not write are named, and break nothing', async () => {
  if (testDatabase() !== 'sqlite') return
  const { service } = await buildAudited()
  const { db } = service.deps
  const { id } = await db('audit_events').where({ event: 'login.success' }).orderBy('id').first()
  for (const set of [{ mac: Buffer.from('x') }, { at: '' }, { at: Buffer.from('1') }, { event: Buffer.from('x') }])
    expect(await attack(service, () => db('audit_events').where({ id }).update(set))).toMatchObject({ subject: 'event' })
  for (const name of ['upto', 'tags', 'seal'])
    for (const number of [1, 2]) {
      const asBytes = () =>
        db('audit_batches')
          .where({ number })
          .update({ [name]: db.raw(`cast(${name} as blob)`) })
      expect(await attack(service, asBytes), name).toMatchObject({ kind: 'changed', subject: 'batch', batch: number })
    }
  const head = { kind: 'changed', subject: 'head' }
  for (const set of [{ began_at: '' }, { began_at: 'x' }, { signature: Buffer.from('x') }])
    expect(await attack(service, () => db('audit_chain').update(set))).toMatchObject(head)
  await db('audit_chain').update({ sealed_at: 'x' })
  expect((await verify(service)).head.sealed_at).toBe('1970-01-01T00:00:00.000Z')
})

test('seals that were started over do not continue from a noted batch', async () => {
  const { service, login } = await buildAudited()
  const { db } = service.deps
  const { batch, position, seal } = (await verify(service)).head
  const noted = { batch, head: `${position}:${seal}` }
  expect((await verify(service, noted)).fault).toBeNull()
  // All events but one are sealed again at once, so that the same number of batches has more events.
  const [first] = await db('audit_events').orderBy('id').limit(1)
  await db('audit_events').where({ id: first.id }).delete()
  await removeSeals(service)
  const unproven = { salt: null, personal_digest: null, mac: null }
  await db('audit_events').update({ ...unproven, ...(testDatabase() === 'sqlite' && { xid: 1 }) })
  // A restart begins the seals.
  expect(await hasKeyOfAudit(service.deps)).toBe(true)
  while ((await verify(service)).head?.batch !== batch + 1) await login()
  expect((await verify(service, noted)).fault).toMatchObject({ kind: 'changed', subject: 'head', position })
})

test('removed seals are reported as removed, and sealing does not start over', async () => {
  const { service } = await buildAudited()
  await removeSeals(service)
  expect((await verify(service)).fault).toMatchObject({ kind: 'removed', subject: 'head' })
  await expect(sealEvents(service.deps)).rejects.toThrow('the end of the audit chain is gone')
  // Nobody can sign in to find out if the service does not start.
  expect(await hasKeyOfAudit(service.deps)).toBe(true)
  expect((await verify(service)).fault).toMatchObject({ kind: 'removed', subject: 'head' })
})

test('a noted head that is earlier than the noted batch is reported as changed', async () => {
  const { service } = await buildAudited()
  const [early, late] = (await service.deps.db('audit_batches').orderBy('number').limit(2)) as [Json, Json]
  const of = ({ position, seal }: Json) => `${position}:${seal}`
  expect((await verify(service, { batch: early.number, head: of(early) })).fault).toBeNull()
  expect((await verify(service, { batch: early.number, head: of(late) })).fault).toBeNull()
  const fault = { kind: 'changed', subject: 'head', position: early.position }
  expect((await verify(service, { batch: late.number, head: of(early) })).fault).toMatchObject(fault)
})

test('a batch before the beginning is named, and a second row for the end moves nothing', async () => {
  const { service, login } = await buildAudited()
  const { db } = service.deps
  const batch = await db('audit_batches').orderBy('number').first()
  for (const number of [0, -1]) {
    const fault = { kind: 'inserted', subject: 'batch', batch: number }
    expect(await attack(service, () => db('audit_batches').insert({ ...batch, number }))).toMatchObject(fault)
  }
  const chain = await db('audit_chain').first()
  for (const id of [0, 2]) await db('audit_chain').insert({ ...chain, id })
  await login()
  const { fault, head, unsealed } = await verify(service)
  expect({ fault, unsealed, position: head.position }).toEqual({ fault: null, unsealed: 0, position: expect.any(Number) })
  expect(head.position).toBeGreaterThan(chain.batch_position)
  expect(await attack(service, () => db('audit_chain').where({ id: 1 }).update({ id: 7 }))).toMatchObject({
    ...{ kind: 'removed', subject: 'head' },
  })
})
