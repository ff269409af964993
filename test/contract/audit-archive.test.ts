// Archives of the audit are verified without the service: docs/operate/sealed-audit.md, "Archives".
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { compareArchive } from '../../packages/cli/src/nouns/audit-archive.ts'
import { recordEvents, systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { sealEvents } from '../../packages/server/src/resources/audit/seal-events.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture()
let before: string
/** The parts of an archive of all that was sealed; each is a list of lines. */
let parts: string[][]
let key: string

async function archive(until: string): Promise<Json[]> {
  const found: Json[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = new URLSearchParams({ before: until, ...(cursor !== undefined && { cursor }) })
    const { status, body } = await service.admin('GET', `/admin/audit/archive?${query}`)
    expect(status).toBe(200)
    found.push(body)
    cursor = body.next_cursor
  }
  return found
}

async function compare(lines: readonly string[], ofKey = key) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-archive-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'audit.ndjson')
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''))
  return compareArchive(file, ofKey)
}

beforeAll(async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  await buildUser(service, app)
  for (let round = 0; round < 5; round += 1) {
    await recordEvents(
      service.deps,
      Array.from({ length: 700 }, () => ({
        event: 'logout' as const,
        actor: systemActor,
        details: { text: 'a line\nbreak, \u2028, \u2029 and \u0085' },
      })),
    )
    await sealEvents(service.deps)
  }
  service.advance(60)
  before = new Date(service.deps.clock()).toISOString()
  const found = await archive(before)
  parts = found.map(({ lines }) => lines)
  key = found[0]!.key
})

test('an archive contains every event that was sealed before the given time, and is complete', async () => {
  expect(parts.length).toBeGreaterThan(1)
  const compared = await compare(parts.flat())
  const [chain] = await service.deps.db('audit_chain')
  const sealed = chain.batch_position
  const to = { batch: chain.batch, seal: chain.batch_seal, position: sealed }
  const [{ id: serviceId }] = await service.deps.db('service')
  expect(compared).toEqual({ service: serviceId, events: sealed, before, after: { batch: 0, seal: '' }, to, fault: undefined })
  const events = parts.flat().flatMap((line) => (line.startsWith('{"id":') ? [JSON.parse(line)] : []))
  const rows: Json[] = await service.deps.db('audit_events').where('xid', '>', 0).orderBy('id').limit(sealed)
  expect(events.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id))
  const registered = events.find(({ event }) => event === 'user.registered')
  expect(registered).toMatchObject({ ip: '127.0.0.1', count: 1, actor: { type: 'anonymous', id: null } })
  expect(registered).not.toHaveProperty('salt')
})

test('an archive ends at the given time, and is complete then too', async () => {
  const early = await archive('2001-01-01')
  expect(early).toMatchObject([{ events: 0, fault: null, next_cursor: null }])
  expect(await compare(early[0]!.lines)).toMatchObject({ events: 0, fault: undefined })
})

test('the comparison finds a change, a loss, a swap, another key and a cut', async () => {
  const all = parts.flat()
  const changed = all.map((line, index) => (index === 3 ? line.replace('"count":1', '"count":2') : line))
  expect((await compare(changed)).fault).toMatch(/^lines 1 to \d+ are not what the service wrote$/)
  expect((await compare(all.toSpliced(5, 1))).fault).toMatch(/are not what/)
  expect((await compare([...all.slice(0, 2), all[3]!, all[2]!, ...all.slice(4)])).fault).toMatch(/are not what/)
  const [first, second, ...rest] = parts as [string[], string[], ...string[][]]
  expect((await compare([...first, ...rest.flat()])).fault).toMatch(/^a part is missing before line/)
  expect((await compare([second, ...rest].flat())).fault).toBe('a part is missing before line 1')
  expect((await compare(first)).fault).toBe('the end of the archive is missing')
  expect((await compare([])).fault).toBe('the end of the archive is missing')
  expect((await compare([...all, '{}'])).fault).toMatch(/stands after the end/)
  const others = 'O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik'
  expect((await compare(all, others)).fault).toMatch(/are not what/)
  // A part that says of itself that it is the last.
  const cut = [...first.slice(0, -1), first.at(-1)!.replace('"last":false', '"last":true')]
  expect((await compare(cut)).fault).toMatch(/are not what/)
  await expect(compare(all, 'no key')).rejects.toThrow('--key must be')
})

test('the service signs no archive of rows that it did not write', async () => {
  const events = service.deps.db('audit_events')
  const row: Json = await events.clone().where({ event: 'user.registered' }).first()
  await events.clone().where({ id: row.id }).update({ reason: 'forged' })
  const found = await archive(before)
  expect(found.at(-1)).toMatchObject({ lines: [], events: 0, next_cursor: null, fault: { kind: 'changed', event_id: row.id } })
  await events.clone().where({ id: row.id }).update({ reason: row.reason })
  const [batch] = await service.deps.db('audit_batches').orderBy('number')
  await service.deps
    .db('audit_batches')
    .where({ number: batch.number })
    .update({ sealed_at: batch.sealed_at - 1 })
  expect((await archive(before)).at(-1)).toMatchObject({ lines: [], fault: { subject: 'batch', batch: batch.number } })
  await service.deps.db('audit_batches').where({ number: batch.number }).update({ sealed_at: batch.sealed_at })
  const [chain] = await service.deps.db('audit_chain')
  await service.deps.db('audit_chain').update({ batch_position: chain.batch_position + 1 })
  expect(await archive(before)).toMatchObject([{ lines: [], fault: { subject: 'head' } }])
  await service.deps.db('audit_chain').update({ batch_position: chain.batch_position })
  expect((await archive(before)).every(({ fault }) => fault === null)).toBe(true)
})

test.each([
  ['before', 'yesterday'],
  ['cursor', 'sealed.1'],
])('the %s "%s" is refused and named', async (name, value) => {
  const query = new URLSearchParams({ before, [name]: value })
  const { body } = await service.admin('GET', `/admin/audit/archive?${query}`)
  expect(body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ path: name }] })
})

test('the archive names a batch that does not exist', async () => {
  const { body } = await service.admin('GET', `/admin/audit/archive?${new URLSearchParams({ before, cursor: 'batch.1000000' })}`)
  expect(body).toMatchObject({ lines: [], fault: { kind: 'removed', subject: 'batch', batch: 1_000_000 } })
})
