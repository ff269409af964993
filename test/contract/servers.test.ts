// Servers of one database notice when they differ: another secret, another encryption key, another version, a clock that is off.
import { randomBytes } from 'node:crypto'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { startHeartbeat } from '../../packages/server/src/workers/heartbeat.ts'
import { createDatabase } from '../support/database.ts'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildService, type Json, type TestService, testDatabase } from '../support/service.ts'

const service = serviceFixture()

async function run(deps: TestService['deps']) {
  const heartbeat = startHeartbeat(deps, 20)
  onTestFinished(() => heartbeat.stop())
  return heartbeat
}
const listed = async (from: TestService): Promise<Json[]> => (await from.admin('GET', '/admin/servers')).body.items
const faultsOf = async (from: TestService): Promise<Json> =>
  Object.fromEntries((await from.deps.metrics.serverFaults.get()).values.map(({ labels, value }) => [labels.fault, value]))
const none = { secret: 0, encryption_key: 0, clock: 0, version: 0 }

test('a running server is listed with what all servers must share, and a stopped one is not listed', async () => {
  expectError(await service.call('GET', '/admin/servers'), 'token_missing')
  const { id, stop } = await run(service.deps)
  await expect.poll(() => listed(service)).toHaveLength(1)
  const [server] = await listed(service)
  expect(server).toEqual({
    id,
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    started_at: expect.stringMatching(/Z$/),
    seen_at: expect.stringMatching(/Z$/),
    clock_offset_ms: expect.any(Number),
    kids: [service.deps.sharedKeys[0].id],
    encryption_key_ok: true,
  })
  const secrets = [service.deps.config.accessSecret, service.deps.config.encryptionKeys[0].toString('base64')]
  const row = JSON.stringify(await service.deps.db('servers').first())
  for (const secret of secrets) expect(row).not.toContain(secret)
  await stop()
  expect(await listed(service)).toEqual([])
})

test('a server that was killed is listed for a minute', async () => {
  const now = service.deps.clock()
  const row = { version: '1.0.0', started_at: now, clock_offset_ms: 0, kids: 'a', encryption_keys: 'a' }
  await service.deps.db('servers').insert({ id: 'killed', ...row, seen_at: now - 50_000 })
  await service.deps.db('servers').insert({ id: 'forgotten', ...row, seen_at: now - 61_000 })
  expect((await listed(service)).map(({ id }) => id)).toEqual(['killed'])
  await service.deps.db('servers').delete()
})

describe.runIf(testDatabase() === 'postgres')('two servers', () => {
  async function two(settings: Record<string, string>, clockAheadMs = 0) {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const one = await buildService({ DATABASE_URL: database.url })
    const other = await buildService({ DATABASE_URL: database.url, ...settings })
    other.advance(clockAheadMs / 1_000)
    await run(one.deps)
    await run(other.deps)
    await expect.poll(() => listed(one)).toHaveLength(2)
    return { one, other }
  }

  test('two servers with the same settings have no faults', async () => {
    const { one, other } = await two({})
    await expect.poll(() => faultsOf(one)).toEqual(none)
    await expect.poll(() => faultsOf(other)).toEqual(none)
  })

  test('two servers with different secrets both report that they refuse the tokens of each other', async () => {
    const secret = randomBytes(32).toString('base64')
    const { one, other } = await two({ JWT_ACCESS_SECRET: secret })
    await expect.poll(() => faultsOf(one)).toEqual({ ...none, secret: 2 })
    await expect.poll(() => faultsOf(other)).toEqual({ ...none, secret: 2 })
  })

  test('a server with the secret of the others as its previous one accepts their tokens, and only they refuse', async () => {
    const secret = randomBytes(32).toString('base64')
    const { one } = await two({})
    const next = await buildService({
      DATABASE_URL: one.deps.config.databaseUrl,
      JWT_ACCESS_SECRET: secret,
      JWT_ACCESS_SECRET_PREVIOUS: one.deps.config.accessSecret,
    })
    await run(next.deps)
    await expect.poll(() => faultsOf(one)).toEqual({ ...none, secret: 2 })
  })

  test('two servers with different encryption keys are listed as unable to decrypt', async () => {
    const { one } = await two({ AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64') })
    await expect.poll(() => faultsOf(one)).toEqual({ ...none, encryption_key: 2 })
    expect((await listed(one)).map(({ encryption_key_ok }) => encryption_key_ok)).toEqual([false, false])
  })

  test('a server whose clock is off by more than two seconds is reported', async () => {
    const { one } = await two({}, 5_000)
    await expect.poll(() => faultsOf(one)).toEqual({ ...none, clock: 1 })
    const offsets = (await listed(one)).map(({ clock_offset_ms }) => clock_offset_ms).sort((a, b) => a - b)
    expect(Math.abs(offsets[0])).toBeLessThan(2_000)
    expect(offsets[1]).toBeGreaterThan(3_000)
  })

  test('two servers of different versions are reported', async () => {
    const { one } = await two({})
    const now = one.deps.clock()
    const [row] = await one.deps.db('servers')
    await one.deps.db('servers').insert({ ...row, id: 'older', version: '0.0.1', seen_at: now + 30_000 })
    await expect.poll(() => faultsOf(one)).toEqual({ ...none, version: 1 })
  })
})
