// No statement of a login, a refresh, a "who am I" or a list scans a table that grows with the users. The service runs on a
// database with thousands of users, which reports how it found each row. Postgres also reports how many rows it read.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { assertionOf } from '../support/consumer.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { canLogIn, emailOf, insertManyUsers, refreshTokenOf } from '../support/many-users.ts'
import { type PlanReader, readPlans } from '../support/query-plans.ts'
import { anyLine, buildApp, callHttp, type Json, PASSWORD, type Reply, testDatabase } from '../support/service.ts'

const users = Number(process.env.PLANNED_USERS ?? 20_000)
/** Tables for what admins create. They stay small however many users there are. */
const smallTables = new Set(
  ['apps', 'roles', 'permissions', 'role_permissions', 'permission_services', 'service_accounts', 'sso_providers'].concat([
    'generations',
    'service_account_apps',
    'consumer_secrets',
    'deleted_apps',
    'app_keys',
    'service',
    'feeds',
    'schema_migrations',
    'pool_sizes',
    'audit_chain',
    'pool_changes',
    'daily_tasks',
  ]),
)
/** Enough to find 50 rows that one user in twenty has, and far from all. */
const mostRows = 1_500
const usersOfTag = users / 200
/** From the sixth run on, Postgres may plan a named statement once for all values, instead of for each value. */
const repeats = 7

let plans: PlanReader
let growing: Set<string>
let app: Json
let rareApp: Json
let rareRole: string
/** A user who has everything. */
let userId: string
let organizationId: string

const service = serviceFixture({ AUTH_LOCKOUT_THRESHOLD: '1000', AUTH_RATE_LIMIT_ACCOUNT: 'off' })
beforeAll(async () => {
  plans = await readPlans(service)
  app = await buildApp(service, { auto_grant_on_signup: true })
  rareApp = await buildApp(service)
  rareRole = `role-${randomUUID()}`
  await service.admin('POST', '/admin/roles', { body: { code: rareRole, name: 'Rare', scope: 'global' } })
  const body = { code: 'idp', issuer: 'https://idp.example.com', client_id: 'some', client_secret: 'some' }
  const provider = (await service.admin('POST', '/admin/sso-providers', { body })).body
  const { deps } = service
  await insertManyUsers(deps.config.databaseUrl, {
    users,
    appIds: [app.id, rareApp.id],
    roleCode: rareRole,
    providerId: provider.id,
    passwordHash: await deps.passwords.hash(PASSWORD, anyLine),
  })
  userId = (
    await deps
      .db('users')
      .where({ email: emailOf(users / 2) })
      .first('id')
  ).id
  organizationId = (await deps.db('organization_memberships').where({ user_id: userId }).first('organization_id')).organization_id
  const tables: string[] =
    testDatabase() === 'sqlite'
      ? await deps.db('sqlite_master').where({ type: 'table' }).pluck('name')
      : await deps.db('pg_tables').where({ schemaname: 'public' }).pluck('tablename')
  // Months to come are empty here, and Postgres scans what is empty.
  growing = new Set(tables.filter((table) => !smallTables.has(table) && !/^audit_events_(rest|\d)/.test(table)))
}, 600_000)

/** Fails if a statement of `run` scans a growing table, or reads more than `most` of its rows, and names the statement. */
async function expectFewRead<T>(what: string, run: () => Promise<T>, most = mostRows, mayScan = false): Promise<T> {
  plans.take()
  const result = await run()
  const planned = plans.take()
  expect(planned.length, `${what}: the database reports no statement`).toBeGreaterThan(0)
  const faults = planned.flatMap(({ sql, readings }) =>
    readings
      // A search for what every row holds ends its scan once it has found enough.
      .filter(
        ({ table, isScan, rows }) => growing.has(table) && ((isScan && !mayScan && (rows ?? most) > 201) || (rows ?? 0) > most),
      )
      .map(({ table, how, rows }) => `${what}: ${how} on ${table}, ${rows ?? 'all'} rows, by ${sql}`),
  )
  expect(faults).toEqual([])
  return result
}

/** With `mayBeEmpty`, a page looks through some rows and goes on from there, whether or not it has found any. */
async function expectPage(path: string, most?: number, mayBeEmpty = false): Promise<void> {
  const first = await expectFewRead(`GET ${path}`, () => service.admin('GET', path), most)
  expect(first.status, path).toBe(200)
  const { next_cursor } = first.body
  if (typeof next_cursor !== 'string') return
  const next = `${path}${path.includes('?') ? '&' : '?'}cursor=${next_cursor}`
  const second = await expectFewRead(`GET ${next}`, () => service.admin('GET', next), most)
  expect(second.status, next).toBe(200)
  if (!mayBeEmpty) expect(second.body.items.length, next).toBeGreaterThan(0)
}

const post = (path: string, body: object): Promise<Reply> => service.call('POST', path, { body })

describe('statements of users read few rows', () => {
  const somebody = Array.from({ length: users }, (_, index) => index + 1)
    .filter(canLogIn)
    .slice(100, 100 + repeats)

  test('login, /auth/me, refresh and logout read few rows', async () => {
    for (const user of somebody) {
      const { body: entered } = await expectFewRead('login', async () => {
        const reply = await service.login(emailOf(user), app.code)
        expect(reply).toMatchObject({ status: 200 })
        return reply
      })
      const token = entered.access_token
      await expectFewRead('me', () => service.call('GET', '/auth/me', { token }))
      await expectFewRead('sessions', () => service.call('GET', '/auth/sessions?limit=1', { token }))
      await expectFewRead('identities', () => service.call('GET', '/auth/identities', { token }))
      const { refresh_token } = entered
      const { status } = await expectFewRead('refresh', () => post('/auth/refresh', { refresh_token }))
      expect(status).toBe(200)
      await expectFewRead('the same refresh again', () => post('/auth/refresh', { refresh_token }))
      const old = { refresh_token: refreshTokenOf(user) }
      expect((await expectFewRead('refresh of an old session', () => post('/auth/refresh', old))).status).toBe(200)
      expect((await expectFewRead('logout', () => post('/auth/logout', old))).status).toBe(204)
      expect((await expectFewRead('refresh of a dead session', () => post('/auth/refresh', old))).status).toBe(401)
    }
  })

  test('failed logins read few rows', async () => {
    for (const user of somebody) {
      const wrong = { email: emailOf(user), password: 'a wrong password', app_code: app.code }
      expect((await expectFewRead('wrong password', () => post('/auth/login', wrong))).status).toBe(401)
      const nobody = { ...wrong, email: `nobody${user}@example.com` }
      expect((await expectFewRead('no such user', () => post('/auth/login', nobody))).status).toBe(401)
    }
  })

  test('a registration and the mails for a forgotten password read few rows', async () => {
    const email = `new-${randomUUID()}@example.com`
    expect((await expectFewRead('register', () => service.register(email, app.code))).status).toBe(201)
    expect((await expectFewRead('forgot', () => post('/auth/password/forgot', { email, app_code: app.code }))).status).toBe(202)
  })

  test('the revocations that consumers read cost few rows', async () => {
    const token = assertionOf(app)
    let page = (await service.call('GET', '/revocations', { token })).body
    while (page.has_more) page = (await service.call('GET', `/revocations?since=${page.cursor}`, { token })).body
    await expectFewRead('revocations since then', () => service.call('GET', `/revocations?since=${page.cursor}`, { token }))
    // All revocations of an hour, of any app. Here they are hardly more than a page, so reading the table is the shortest way.
    const all = () => service.call('GET', '/revocations', { token })
    await expectFewRead('revocations, all', all, Math.max(2_000, users / 200), true)
  })
})

describe('lists of admins read few rows', () => {
  test.for([
    '',
    'limit=200',
    `email=${emailOf(12)}`,
    'namespace=default',
    'namespace=pool-7',
    'namespace=tag-7',
    'namespace=nobody',
    'app=APP',
    'app=RARE_APP',
    'app=authctl',
    'role=base_user',
    'role=RARE_ROLE',
    'role=system_admin',
    'status=active',
    'status=suspended',
    'status=deleted',
    'q=first1',
    'app=RARE_APP&role=RARE_ROLE',
    'app=authctl&role=base_user',
    'namespace=tag-7&app=APP',
  ])('the list of users reads few rows: %s', async (query) => {
    const filters = query.replace('RARE_APP', rareApp.code).replace('APP', app.code).replace('RARE_ROLE', rareRole)
    await expectPage(`/admin/users?${filters}`)
  })

  test('the list of suspended users of a shared pool reads that whole pool, since no index covers both', async () => {
    await expectPage('/admin/users?namespace=tag-7&status=suspended', Math.max(mostRows, usersOfTag))
  })

  // SQLite has no index for parts of texts (docs/why/data-model.md).
  test.for([`q=${emailOf(users - 8)}`, 'q=zzzz', 'q=zzzz&status=active', 'q=LAST1234', 'q=zz', 'q=z'])(
    'the list of users searched by a part of a text reads few rows: %s',
    async (query) => {
      await expectPage(`/admin/users?${query}`)
    },
  )

  test.for([
    'apps',
    'organizations',
    'organizations?q=zzzz',
    'organizations?q=org-',
    'roles',
    'permissions',
    'service-accounts',
    'sso-providers',
    'audit',
    'audit?event=login.failed',
    'audit?user_id=USER',
    'audit?actor_id=USER',
    `audit?email=${encodeURIComponent(emailOf(12))}`,
    'audit?email=nobody@example.com&event=login.failed',
    'audit?user_id=USER&event=login.failed',
    'audit?actor_id=USER&app_id=APP',
    'audit?since=2020-01-01',
    'audit?until=2020-01-01',
    'audit?event=login.failed&until=2100-01-01',
    'audit?user_id=USER&event=login.failed&event=user.*',
    'audit?actor_id=USER&request_id=none',
    'apps/APP/users',
    'apps/APP/users?effective=active',
    'apps/APP/users?effective=expired',
    'apps/APP/users?effective=revoked',
    'apps/APP/users?expires_before=2030-01-01T00:00:00Z',
    'apps/RARE_APP/users',
    'apps/APP/webhook-deliveries',
    'apps/APP/webhook-deliveries?status=failed',
    'apps/APP/webhook-deliveries?status=pending',
    'apps/RARE_APP/webhook-deliveries',
    'mails',
    'mails?status=pending',
    'mails?status=failed',
    'mails?status=unsent',
    'mails?user_id=USER',
    'users/USER',
    'users/USER/apps',
    'users/USER/identities',
    'users/USER/roles',
    'organizations/ORGANIZATION/members?limit=2',
    'organizations/ORGANIZATION/invitations?limit=2',
    'explain?user_id=USER&app=APP',
    `explain?email=${emailOf(12)}&app=APP`,
    'secrets',
    'access-requests',
    'access-requests?status=open',
    'access-requests?app=APP',
    'access-requests?user_id=USER',
  ])('the list reads few rows: %s', async (path) => {
    const named = path.replace('RARE_APP', rareApp.code).replace('APP', app.code).replace('USER', userId)
    await expectPage(`/admin/${named.replace('ORGANIZATION', organizationId)}`)
  })

  test.for([
    'event=mail.failed',
    'event=role.created',
    'event=user.registered',
    'app_id=APP',
    'app_id=RARE_APP',
    'ip=127.0.0.1',
    'ip=192.0.2.7&since=2020-01-01',
    'request_id=none',
    'request_id=none&since=2020-01-01',
    'event=login.*',
    'event=login.failed&event=user.*',
    'event=app.*&event=role.created',
  ])('the list of audit events without an index reads 10,000 a page: %s', async (query) => {
    const named = query.replace('RARE_APP', rareApp.code).replace('APP', app.code)
    await expectPage(`/admin/audit?${named}`, 10_100, true)
  })

  // Until Postgres has statistics of the index, it reads all refused logins rather than as many as a page looks through.
  test.for(['event=login.failed&ip=192.0.2.7', 'event=login.failed&app_id=RARE_APP'])(
    'the list of refused logins without an index reads at most all refused logins: %s',
    async (query) => {
      await expectPage(`/admin/audit?${query.replace('RARE_APP', rareApp.code)}`, users * 1.1, true)
    },
  )

  test('the list of pools and their collisions read few rows', async () => {
    await expectPage('/admin/namespaces?limit=10')
    await expectPage('/admin/namespaces/pool-7/collisions?with=default')
  })
})

test('the statistics read no more events than they count', async () => {
  const since = new Date(Date.now() - 7 * 24 * 3_600_000).toISOString()
  for (let turn = 0; turn < repeats; turn += 1) {
    const { status, body } = await expectFewRead('stats', () => service.admin('GET', `/admin/stats?since=${since}`), 4_100)
    expect(status).toBe(200)
    expect(body.logins.outcomes).not.toEqual([])
  }
})

describe('statements of admins and of the service itself read few rows', () => {
  test('the logout, suspension and deletion of a user read few rows', async () => {
    const path = `/admin/users/${userId}`
    expect((await expectFewRead('logout', () => service.admin('POST', `${path}/logout`))).status).toBe(204)
    expect((await expectFewRead('suspend', () => service.admin('PATCH', path, { body: { status: 'suspended' } }))).status).toBe(
      200,
    )
    expect((await expectFewRead('delete', () => service.admin('DELETE', path))).status).toBe(204)
  })

  test('the metrics read few rows', async () => {
    expect((await expectFewRead('metrics', () => callHttp(`${service.url}/metrics`, 'GET'))).status).toBe(200)
  })
})
