import { expect, test } from 'vitest'
import manifest from '../../packages/server/package.json' with { type: 'json' }
import { type Db, isPostgres } from '../../packages/server/src/db/handle.ts'
import { startHeartbeat } from '../../packages/server/src/workers/heartbeat.ts'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildService } from '../support/service.ts'

const service = serviceFixture()

test('/health is 200 with the version while the process serves', async () => {
  const reply = await service.call('GET', '/health')
  expect(reply.status).toBe(200)
  expectHeaders(reply)
  expect(reply.body).toEqual({ status: 'ok', version: manifest.version })
})

test('/ready is 200 and lists each check', async () => {
  const reply = await service.call('GET', '/ready')
  expect(reply.status).toBe(200)
  const fine = { ok: true, detail: null }
  expect(reply.body).toEqual({ status: 'ready', checks: { accepting: fine, database: fine, writes: fine, migrations: fine } })
})

test('/ready is 503 and names migrations that have not run', async () => {
  const { deps, call } = await buildService()
  const [newest] = await deps.db('schema_migrations').orderBy('name', 'desc').limit(1)
  await deps.db('schema_migrations').where({ name: newest.name }).delete()
  const reply = await call('GET', '/ready')
  expect(reply.status).toBe(503)
  expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(reply.body).toMatchObject({
    status: 'not_ready',
    checks: { database: { ok: true }, migrations: { ok: false, detail: expect.stringContaining(newest.name) } },
  })
})

test('/ready stays 200 and says so after a newer server has migrated the database', async () => {
  const { deps, call } = await buildService()
  await deps.db('schema_migrations').insert({ name: '9999-from-the-future', checksum: '', applied_at: 0 })
  const reply = await call('GET', '/ready')
  expect(reply.status).toBe(200)
  const migrations = { ok: true, detail: 'migrated by a newer server' }
  expect(reply.body).toMatchObject({ status: 'ready', checks: { database: { ok: true }, migrations } })
})

test('a service without its database is healthy and not ready', async () => {
  const { deps, call } = await buildService()
  await deps.db.destroy()
  expect((await call('GET', '/health')).status).toBe(200)
  const reply = await call('GET', '/ready')
  expect(reply.status).toBe(503)
  expectHeaders(reply)
  expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(reply.body).toMatchObject({ status: 'not_ready', checks: { accepting: { ok: true }, database: { ok: false } } })
})

/** Makes the database refuse every write. Returns what undoes it. */
async function refuseWrites(db: Db): Promise<() => Promise<unknown>> {
  if (!isPostgres(db)) {
    await db.raw('pragma query_only = on')
    return () => db.raw('pragma query_only = off')
  }
  const raise = `begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end`
  await db.raw(`create function full_disk() returns trigger language plpgsql as $$ ${raise} $$`)
  await db.raw('create trigger full_disk before insert or update on servers for each row execute function full_disk()')
  return () => db.raw('drop trigger full_disk on servers')
}

test('/ready and the metrics show while the database refuses writes, and when it accepts them again without any call', async () => {
  const { deps, call } = await buildService()
  const heartbeat = startHeartbeat(deps, 20)
  try {
    const writes = async () => (await call('GET', '/ready')).body.checks.writes
    const writable = async () => (await deps.metrics.databaseWritable.get()).values[0]!.value
    expect([await writes(), await writable()]).toEqual([{ ok: true, detail: null }, 1])
    const accept = await refuseWrites(deps.db)
    await expect.poll(writable).toBe(0)
    const reply = await call('GET', '/ready')
    const checks = { database: { ok: true }, writes: { ok: false, detail: 'failed' } }
    expect(reply).toMatchObject({ status: 503, body: { status: 'not_ready', checks } })
    expect(reply.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    await accept()
    await expect.poll(writable).toBe(1)
    expect((await call('GET', '/ready')).status).toBe(200)
  } finally {
    await heartbeat.stop()
  }
})

test('/health and /ready accept only GET', async () => {
  for (const path of ['/health', '/ready']) expectError(await service.call('POST', path, { body: {} }), 'method_not_allowed')
})

test('/admin/settings shows a system_admin what others may do, and nothing else', async () => {
  expectError(await service.call('GET', '/admin/settings'), 'token_missing')
  const reply = await service.admin('GET', '/admin/settings')
  expect(reply.status).toBe(200)
  expect(reply.body).toEqual({
    production: false,
    public_url: 'http://localhost:4000',
    client_overrides: 'open',
    passkeys_elsewhere: 0,
    finds_inside: true,
    admin_app_codes: ['*'],
  })
  const strict = await buildService({ AUTH_CLIENT_OVERRIDES: 'declared', AUTH_ADMIN_APP_CODES: 'console,authctl' })
  expect((await strict.admin('GET', '/admin/settings')).body).toMatchObject({
    client_overrides: 'declared',
    passkeys_elsewhere: 0,
    admin_app_codes: ['console', 'authctl'],
  })
})
