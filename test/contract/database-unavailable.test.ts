import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { listRoutes } from '../../packages/server/src/app.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { impliedErrors } from '../../packages/server/src/http/openapi.ts'
import type { Route } from '../../packages/server/src/http/route.ts'
import { newServiceToken } from '../../packages/server/src/lib/service-token.ts'
import { assertionOf } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  PASSWORD,
  type Reply,
  realLimits,
  type TestService,
  testDatabase,
} from '../support/service.ts'

// Without its database, the service replies 503 within 5 seconds, and never calls a good token bad.

const offline = listRoutes().filter((route) => !impliedErrors(route).includes('unavailable'))
// It needs the database only for a `request_id` that the service has sealed.
const needsSealed = '/auth/email-code/consume'
const online = listRoutes().filter((route) => impliedErrors(route).includes('unavailable') && route.path !== needsSealed)
const anyId = '0190a0a0-0000-7000-8000-000000000000'

/** Calls each route that needs the database, with a good token and a good enough body. */
async function askAll(service: TestService, token: string): Promise<{ name: string; ms: number; reply: Reply }[]> {
  return Promise.all(
    online.map(async (route) => {
      const clock = startPatientClock()
      const path = route.path.replace(/\{\w+\}/g, anyId) + requiredQueryOf(route)
      const body = route.body
        ? {
            email: 'a@example.com',
            password: PASSWORD,
            app_code: 'shop',
            refresh_token: 'grt_x',
            token: 'x',
            code: 'x',
            code_verifier: 'x',
          }
        : undefined
      const reply = await service.call(route.method, path, { token: tokenFor(route, token), body })
      return { name: `${route.method} ${route.path}`, ms: clock(), reply }
    }),
  )
}

/** The query fields without which a public route refuses the call before it needs the database. */
function requiredQueryOf({ path }: Route): string {
  if (path.endsWith('/start')) return `?app_code=shop&redirect_url=https://a.b/&code_challenge=${'x'.repeat(43)}&state=x`
  return path.endsWith('/callback') ? '?state=x' : ''
}

function tokenFor({ auth }: Route, adminToken: string): string | undefined {
  if (auth === 'public') return undefined
  if (auth === 'service_account') return newServiceToken()
  return auth.includes('consumer') ? assertionOf({ code: 'authctl' }) : adminToken
}

/** How long a reply takes: in wall-clock time, and by a clock that falls behind when the machine is busy. */
async function timed(ask: () => Promise<Reply>): Promise<{ wallMs: number; ms: number; reply: Reply }> {
  const clock = startPatientClock()
  const started = performance.now()
  const reply = await ask()
  return { wallMs: performance.now() - started, ms: clock(), reply }
}

async function expectUnavailable(service: TestService, token: string): Promise<void> {
  for (const { name, ms, reply } of await askAll(service, token)) {
    expectError(reply, 'unavailable', name)
    expect(ms, name).toBeLessThan(5_000)
  }
}

/** Runs statements on the Postgres server, from outside the service's own database. */
async function asOperator(service: TestService, ...statements: string[]): Promise<void> {
  const url = new URL(service.deps.config.databaseUrl)
  url.pathname = '/postgres'
  const db = createKnex({ databaseUrl: url.href, dbPoolMax: 1 })
  try {
    for (const statement of statements) await db.raw(statement)
  } finally {
    await db.destroy()
  }
}

function databaseName(service: TestService): string {
  return new URL(service.deps.config.databaseUrl).pathname.slice(1)
}

async function adminTokenOf(service: TestService): Promise<string> {
  await buildApp(service)
  return (await service.login(ADMIN_EMAIL, 'authctl')).body.access_token
}

test('every route that needs the database is 503 without it, and the others answer', async () => {
  const service = await buildService(realLimits)
  const token = await adminTokenOf(service)
  await service.deps.db.destroy()
  await expectUnavailable(service, token)
  for (const route of offline) {
    const reply = await service.call(route.method, route.path)
    expectHeaders(reply)
    expect(reply.body.code, route.path).toBeUndefined()
  }
  // A token that the service did not sign is refused without the database.
  expectError(await service.call('GET', '/auth/me', { token: 'garbage' }), 'token_invalid')
  expectError(await service.call('GET', '/auth/me'), 'token_missing')
})

test('a request waits for a connection as long as DB_ACQUIRE_TIMEOUT_MS says', async () => {
  const service = await buildService({ DB_POOL_MAX: '1', DB_ACQUIRE_TIMEOUT_MS: '400' })
  const token = await adminTokenOf(service)
  const held = await service.deps.db.transaction()
  const { wallMs, ms, reply } = await timed(() => service.call('GET', '/auth/me', { token }))
  await held.rollback()
  expectError(reply, 'unavailable')
  expect(reply.headers.get('retry-after')).toBe('2')
  expect(wallMs).toBeGreaterThan(390)
  expect(ms).toBeLessThan(1_500)
  expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
})

describe.runIf(testDatabase() === 'postgres')('an unavailable Postgres', () => {
  test('Postgres ends a statement after DB_STATEMENT_TIMEOUT_MS, and the connection stays', async () => {
    // Postgres ends it 500 ms before the server would cut the connection, which is time enough on a busy machine.
    const service = await buildService({ DB_POOL_MAX: '1', DB_STATEMENT_TIMEOUT_MS: '5000' })
    const token = await adminTokenOf(service)
    const backend = async () => (await service.deps.db.raw('select pg_backend_pid() as pid')).rows[0].pid
    const before = await backend()
    const operator = createKnex({ databaseUrl: service.deps.config.databaseUrl, dbPoolMax: 1 })
    const held = await operator.transaction()
    await held.raw('lock table users in access exclusive mode')
    const { wallMs, ms, reply } = await timed(() => service.call('GET', '/auth/me', { token }))
    await held.rollback()
    await operator.destroy()
    expectError(reply, 'unavailable')
    expect(wallMs).toBeGreaterThan(4_400)
    expect(ms).toBeLessThan(6_500)
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
    expect(await backend()).toBe(before)
  })

  test('a dropped database is answered 503 in time', async () => {
    const service = await buildService(realLimits)
    const token = await adminTokenOf(service)
    await asOperator(service, `drop database ${databaseName(service)} with (force)`)
    await expectUnavailable(service, token)
    expect((await service.call('GET', '/ready')).status).toBe(503)
    await expectUnavailable(service, token)
  })

  test('a Postgres that refuses connections is answered 503 in time, and the service recovers with it', async () => {
    const service = await buildService(realLimits)
    const token = await adminTokenOf(service)
    const name = databaseName(service)
    const terminate = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
    await asOperator(service, `alter database ${name} allow_connections false`, terminate)
    await expectUnavailable(service, token)
    await asOperator(service, `alter database ${name} allow_connections true`)
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
    expect((await service.call('GET', '/ready')).status).toBe(200)
  })

  test('connections that are cut under load never make a good token invalid, and the next request succeeds', async () => {
    const service = await buildService(realLimits)
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { access_token: token } = await buildUser(service, app)
    const seen = new Set<number>()
    for (let round = 0; round < 5; round += 1) {
      const asked = Array.from({ length: 30 }, () => service.call('GET', '/auth/me', { token }))
      await asOperator(
        service,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${databaseName(service)}' and pid <> pg_backend_pid()`,
      )
      for (const reply of await Promise.all(asked)) {
        seen.add(reply.status)
        if (reply.status !== 200) expectError(reply, 'unavailable')
      }
    }
    expect([...seen].every((status) => status === 200 || status === 503)).toBe(true)
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })

  test('a frozen Postgres is answered 503 in time, and the service recovers with it', async () => {
    const proxy = await startPostgresProxy((await createDatabase('postgres')).url)
    const service = await buildService({ ...realLimits, DATABASE_URL: proxy.url })
    const token = await adminTokenOf(service)
    proxy.freeze(true)
    await expectUnavailable(service, token)
    expect((await service.call('GET', '/ready')).status).toBe(503)
    proxy.freeze(false)
    await expect.poll(async () => (await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })

  test('a frozen Postgres is answered 503 in time also to callers who come while connections are being made', async () => {
    const proxy = await startPostgresProxy((await createDatabase('postgres')).url)
    const limits = { DB_ACQUIRE_TIMEOUT_MS: '600', DB_STATEMENT_TIMEOUT_MS: '1000' }
    const service = await buildService({ DATABASE_URL: proxy.url, DB_POOL_MAX: '10', ...limits })
    const token = await adminTokenOf(service)
    proxy.freeze(true)
    const asked: Promise<Reply>[] = []
    for (let turn = 0; turn < 60; turn += 1) {
      asked.push(service.call('GET', '/auth/me', { token }))
      await sleep(20)
    }
    for (const reply of await Promise.all(asked)) expectError(reply, 'unavailable')
    proxy.freeze(false)
    await expect.poll(async () => (await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })

  test('a pool without a free connection is answered 503 in time', async () => {
    const service = await buildService({ ...realLimits, DB_POOL_MAX: '1' })
    const token = await adminTokenOf(service)
    const held = await service.deps.db.transaction()
    await expectUnavailable(service, token)
    await held.rollback()
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })
})
