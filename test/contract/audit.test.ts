import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { ADMIN_EMAIL, buildApp, buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'

let adminId: string
const service = serviceFixture()
beforeAll(async () => {
  adminId = claimsOf((await adminLogin()).body.access_token).uid
})

async function adminLogin() {
  await service.admin('GET', '/admin/apps')
  return service.login(ADMIN_EMAIL, 'authctl')
}

async function audit(query: Record<string, string>): Promise<Json> {
  const { status, body } = await service.admin('GET', `/admin/audit?${new URLSearchParams(query)}`)
  expect(status).toBe(200)
  return body
}

/** Events written as rows, one a minute from `from` on; their ids, oldest first. */
async function insertEvents(count: number, from: number, columns: (index: number) => Record<string, unknown>): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, index) => {
    const at = from + index * 60_000
    const id = `${newIdAt(at)}`
    return { id, event: 'login.success', actor_type: 'anonymous', at, ...columns(index) }
  })
  await service.deps.db('audit_events').insert(rows)
  return rows.map(({ id }) => id)
}

/** A UUIDv7 of any moment, also one before the newest id. */
function newIdAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}${newId().slice(13)}`
}

test('an event shows who did what to whom, from where, and what it changed', async () => {
  const app = await buildApp(service)
  const { user } = await buildUser(service, app)
  const headers = { 'user-agent': 'audit test', 'x-request-id': 'request-of-the-grant' }
  await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { headers, body: { reason: 'asked for' } })

  const { items, next_cursor } = await audit({ event: 'grant.created', user_id: user.id })
  expect(next_cursor).toBeNull()
  expect(items).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      event: 'grant.created',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      reason: null,
      audit_reason: null,
      actor: { type: 'user', id: adminId },
      user_id: user.id,
      app_id: app.id,
      ip: '127.0.0.1',
      user_agent: 'audit test',
      request_id: 'request-of-the-grant',
      count: 1,
      details: { before: null, after: expect.objectContaining({ status: 'active', reason: 'asked for' }) },
      names: { actor: expect.stringMatching(/@@default$/), user: `${user.email}@@default`, app: app.code },
    },
  ])
})

test('each filter works alone and together with the others', async () => {
  const app = await buildApp(service)
  const other = await buildApp(service)
  const { user } = await buildUser(service, app)
  await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
  await service.admin('POST', `/admin/users/${user.id}/apps/${other.id}`)
  await service.login(user.email, app.code)
  await service.login(user.email, app.code, { password: 'the wrong one' })

  const events = async (query: Record<string, string>) => (await audit(query)).items.map((item: Json) => item.event)
  expect(await events({ user_id: user.id })).toEqual([
    'login.failed',
    'login.success',
    'grant.created',
    'grant.created',
    'user.registered',
  ])
  expect(await events({ user_id: user.id, app_id: other.id })).toEqual(['grant.created'])
  expect(await events({ user_id: user.id, app_id: app.code, event: 'login.failed' })).toEqual(['login.failed'])
  expect(await events({ app_id: other.code })).toEqual(['grant.created', 'app.created'])
  expect(await events({ actor_id: adminId, user_id: user.id })).toEqual(['grant.created', 'grant.created'])
  expect(await events({ actor_id: adminId, event: 'user.registered' })).toEqual([])
  expect((await audit({ user_id: user.id, event: 'login.failed' })).items[0]).toMatchObject({
    reason: 'wrong_password',
    actor: { type: 'anonymous', id: null },
  })
  for (const query of [
    'ip=203.0.113.1',
    'email=nobody-has-it@example.com',
    `user_id=${randomUUID()}`,
    `actor_id=${randomUUID()}`,
  ]) {
    expect((await service.admin('GET', `/admin/audit?${query}`)).body).toEqual({ items: [], next_cursor: null })
  }
})

test('an unknown app is 404 and names the nearest, and a deleted one is found only by its id', async () => {
  const app = await buildApp(service)
  for (const ref of [`${app.code}x`, randomUUID()])
    expectError(await service.admin('GET', `/admin/audit?app_id=${ref}`), 'not_found')
  const { body } = await service.admin('GET', `/admin/audit?app_id=${app.code}x`)
  expect(body.detail).toBe(`No app has the code or id ${app.code}x; the nearest is ${app.code}`)
  await service.admin('DELETE', `/admin/apps/${app.id}`)
  expect((await audit({ app_id: app.id })).items.map((item: Json) => item.event)).toEqual(['app.deleted', 'app.created'])
  expectError(await service.admin('GET', `/admin/audit?app_id=${app.code}`), 'not_found')
})

test('the e-mail filter finds events of its users in every pool and refused logins, and the ip filter those of a client', async () => {
  const apps = [await buildApp(service), await buildApp(service, { registration_namespace: 'elsewhere' })] as const
  const email = `${randomUUID()}@example.com`
  for (const app of apps) await service.register(email, app.code)
  const stranger = await buildApp(service, { registration_namespace: 'of-nobody' })
  await service.login(email.toUpperCase(), stranger.code)
  await service.login(`${randomUUID()}@example.com`, stranger.code)

  const events = async (query: Record<string, string>) => (await audit(query)).items.map((item: Json) => item.event)
  const all = ['login.failed', 'user.registered', 'user.registered']
  expect(await events({ email })).toEqual(all)
  expect(await events({ email: ` ${email.toUpperCase()}`, ip: '127.0.0.1' })).toEqual(all)
  expect(await events({ email, app_id: apps[1].code })).toEqual(['user.registered'])
  expect(await events({ email, event: 'login.failed', until: '2020-01-01' })).toEqual([])
  expect(await events({ email, ip: '203.0.113.9' })).toEqual([])

  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Json = await audit({ email, limit: '1', ...(cursor ? { cursor } : {}) })
    seen.push(...page.items.map((item: Json) => item.event))
    cursor = page.next_cursor
  } while (cursor !== null)
  expect(seen).toEqual(all)
})

test('a role given at creation or by an import is audited like one that is assigned later', async () => {
  const { body: role } = await service.admin('POST', '/admin/roles', {
    body: { code: 'reviewer', name: 'Reviewer', scope: 'global' },
  })
  const roles = ['base_user', role.code]
  const { body: created } = await service.admin('POST', '/admin/users', { body: { email: 'created@example.com', roles } })
  const load = (line: Json) =>
    service.admin('POST', '/admin/users/import', {
      body: JSON.stringify({ email: 'imported@example.com', namespace: 'roles', email_verified: true, ...line }),
      headers: { 'content-type': 'application/x-ndjson' },
    })
  await load({ roles })
  const [imported] = (await service.admin('GET', '/admin/users?email=imported@example.com')).body.items
  for (const line of [{}, { roles }, { roles: ['super_admin'] }]) await load(line)

  const assigned = async (user_id: string) =>
    (await audit({ user_id, event: 'role.assigned' })).items.map(({ actor, details }: Json) => [actor.id, details.role_code])
  expect(await assigned(created.id)).toEqual([[adminId, role.code]])
  expect(await assigned(imported.id)).toEqual([
    [adminId, 'super_admin'],
    [adminId, role.code],
  ])
})

test('an event is shown by its id', async () => {
  const app = await buildApp(service)
  const [event] = (await audit({ app_id: app.id })).items
  expect(await service.admin('GET', `/admin/audit/${event.id}`)).toMatchObject({ status: 200, body: event })
  expectError(await service.admin('GET', `/admin/audit/${randomUUID()}`), 'not_found')
})

test('an unknown event is refused with the nearest name', async () => {
  const { body } = await service.admin('GET', '/admin/audit?event=login.fail')
  expect(body.errors).toEqual([{ path: 'event', code: 'invalid_value', message: 'unknown event; the nearest is login.failed' }])
})

test('several events, or a whole family, are listed together, newest first, and an unknown one among them is named', async () => {
  const user_id = randomUUID()
  const written = ['login.failed', 'user.locked', 'logout', 'logout.all', 'user.unlocked', 'login.success']
  await insertEvents(written.length, Date.parse('2020-08-01'), (index) => ({ user_id, event: written[index] }))
  // By its user, and among those of everybody.
  for (const narrow of [`user_id=${user_id}`, 'since=2020-08-01&until=2020-08-02']) {
    const found = async (query: string) => {
      const { status, body } = await service.admin('GET', `/admin/audit?${narrow}&${query}`)
      expect(status).toBe(200)
      return body.items.map((item: Json) => item.event)
    }
    expect(await found('event=login.failed&event=login.success')).toEqual(['login.success', 'login.failed'])
    expect(await found('event=user.*')).toEqual(['user.unlocked', 'user.locked'])
    expect(await found('event=user.*&event=logout&event=logout')).toEqual(['user.unlocked', 'logout', 'user.locked'])
    expect(await found('event=logout.*')).toEqual(['logout.all'])
    expect(await found('event=app.*&event=service_account.*')).toEqual([])
  }
  for (const [query, nearest] of [
    ['event=login.failed&event=user.lockt', 'user.locked'],
    ['event=usr.*', 'user.*'],
    ['event=*', 'app.*'],
  ]) {
    const { body } = await service.admin('GET', `/admin/audit?${query}`)
    const message = `unknown event; the nearest is ${nearest}`
    expect({ query, errors: body.errors }).toEqual({ query, errors: [{ path: 'event', code: 'invalid_value', message }] })
  }
})

test('families of events about no user are found by their index, also far below other events', async () => {
  const app = await buildApp(service)
  const { items } = await audit({ event: 'app.*', app_id: app.id })
  expect(items.map((item: Json) => item.event)).toEqual(['app.created'])
  const both = await service.admin('GET', '/admin/audit?event=app.*&event=role.created&limit=200')
  expect(both.body.items.map((item: Json) => item.event)).toContain('app.created')
})

test('the request id finds the events of a request, together with other filters, and an impossible id is refused', async () => {
  const app = await buildApp(service)
  const id = `request.of_${randomUUID()}`
  const email = `${randomUUID()}@example.com`
  const body = { email, password: PASSWORD, app_code: app.code }
  await service.call('POST', '/auth/register', { body, headers: { 'x-request-id': id } })
  const kinds = async (query: Record<string, string>) => (await audit(query)).items.map((item: Json) => item.event)
  const all = await kinds({ request_id: id })
  expect(all).toContain('user.registered')
  expect(await kinds({ request_id: id, email })).toEqual(all)
  expect(await kinds({ request_id: id, event: 'user.*' })).toEqual(['user.registered'])
  expect(await kinds({ request_id: id, until: '2020-01-01' })).toEqual([])
  expect(await kinds({ request_id: id.slice(0, -1) })).toEqual([])
})

test('since includes its moment, and until excludes it', async () => {
  const from = Date.parse('2020-05-01T10:00:00Z')
  const user_id = randomUUID()
  const ids = await insertEvents(5, from, () => ({ user_id }))
  const between = async (since: string | undefined, until: string | undefined) =>
    (await audit({ user_id, ...(since ? { since } : {}), ...(until ? { until } : {}) })).items.map((item: Json) =>
      ids.indexOf(item.id),
    )

  expect(await between(undefined, undefined)).toEqual([4, 3, 2, 1, 0])
  expect(await between('2020-05-01T10:01:00Z', '2020-05-01T10:03:00Z')).toEqual([2, 1])
  expect(await between('2020-05-01T10:01:00.001Z', undefined)).toEqual([4, 3, 2])
  expect(await between(undefined, '2020-05-01T10:01:00.001Z')).toEqual([1, 0])
  expect(await between('2020-05-01T12:01:00+02:00', '2020-05-01T12:02:00+02:00')).toEqual([1])
  expect(await between('2020-05-01', '2020-05-02')).toEqual([4, 3, 2, 1, 0])
  expect(await between('2020-05-02', '2020-05-01')).toEqual([])
  expect(await between('1969-12-31', undefined)).toEqual([4, 3, 2, 1, 0])
})

test('an event whose id is later than its time, as after a clock was set back, is found by its time', async () => {
  const at = Date.parse('2020-06-01T10:00:00Z')
  const user_id = randomUUID()
  await insertEvents(1, at, () => ({ user_id, id: newIdAt(at + 50 * 60_000) }))
  expect((await audit({ user_id, since: '2020-06-01T10:00:00Z', until: '2020-06-01T10:00:01Z' })).items).toHaveLength(1)
  expect((await audit({ user_id, since: '2020-06-01T10:00:01Z' })).items).toHaveLength(0)
})

test('pages have no gap and no repeat while events are written', async () => {
  const user_id = randomUUID()
  const ids = await insertEvents(7, Date.parse('2020-07-01'), () => ({ user_id }))
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const page: Json = await audit({ user_id, limit: '3', ...(cursor ? { cursor } : {}) })
    seen.push(...page.items.map((item: Json) => item.id))
    cursor = page.next_cursor
    await insertEvents(1, Date.now(), () => ({ user_id }))
  } while (cursor !== null)
  expect(seen).toEqual(ids.reverse())
})

test.each([
  ['since', 'yesterday'],
  ['since', '2020-02-30T00:00:00Z'],
  ['until', '2020-01-01T00:00:00'],
  ['until', '1577836800000'],
  ['event', 'login.suc'],
  ['email', 'no address'],
  ['ip', ''],
  ['request_id', ''],
  ['request_id', 'two words'],
  ['request_id', 'x'.repeat(129)],
  ['user_id', 'no-uuid'],
  ['actor_id', ''],
  ['app_id', 'No App'],
  ['limit', '0'],
  ['cursor', 'none'],
  ['user', 'unknown'],
])('the %s "%s" is refused and named', async (name, value) => {
  const reply = await service.admin('GET', `/admin/audit?${new URLSearchParams({ [name]: value })}`)
  expect(reply.body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ path: name }] })
})

test('no event contains a secret of what it describes', async () => {
  const webhookSecret = `whsec_${'A'.repeat(32)}`
  const app = await buildApp(service, {
    auto_grant_on_signup: true,
    webhooks: [{ name: 'crm', url: 'https://example.com/hook', secret: webhookSecret }],
  })
  await service.admin('PATCH', `/admin/apps/${app.code}`, {
    body: { webhooks: [{ name: 'crm', url: 'https://example.com/hook2', secret: webhookSecret }] },
  })
  const { user, access_token, refresh_token } = await buildUser(service, app)
  await service.login(user.email, app.code, { password: 'a wrong password of somebody' })
  await service.call('POST', '/auth/refresh', { body: { refresh_token } })
  const account = await service.admin('POST', '/admin/service-accounts', { body: { name: 'CI', service: 'notes' } })
  const rotated = await service.admin('POST', `/admin/service-accounts/${account.body.id}/rotate`)

  const everything = JSON.stringify((await audit({ limit: '200' })).items)
  const { password_hash } = await service.deps.db('users').where({ id: user.id }).first('password_hash')
  const { token_hash } = await service.deps.db('service_accounts').where({ id: account.body.id }).first('token_hash')
  for (const secret of [
    webhookSecret,
    PASSWORD,
    'a wrong password of somebody',
    access_token,
    refresh_token,
    account.body.token,
    rotated.body.token,
    password_hash,
    token_hash,
  ]) {
    expect(everything).not.toContain(secret)
  }
  expect(everything).toContain('service_account.rotated')
})

test('a filter without an index returns pages, some of them empty, until the cursor ends', async () => {
  const from = service.deps.clock() - 30 * 86_400_000
  const [old] = await insertEvents(1, from - 60_000, () => ({ event: 'mail.failed', ip: '192.0.2.77' }))
  for (let begin = 0; begin < 10_500; begin += 500) await insertEvents(500, from + begin * 60_000, () => ({ ip: '192.0.2.1' }))
  const until = new Date(from + 9_990 * 60_000).toISOString()
  const filters: Record<string, string>[] = [{ ip: '192.0.2.77' }, { event: 'mail.failed', until }]
  for (const filter of filters) {
    const found: string[] = []
    let pages = 0
    for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
      const page: Json = await audit({ ...filter, limit: '2', ...(cursor === undefined ? {} : { cursor }) })
      found.push(...page.items.map(({ id }: Json) => id))
      cursor = page.next_cursor
    }
    expect(found).toEqual([old])
    expect(pages).toBeGreaterThan('ip' in filter ? 1 : 0)
  }
  expect((await audit({ ip: '192.0.2.77' })).items).toEqual([])
  await service.deps.db('audit_events').whereIn('ip', ['192.0.2.1', '192.0.2.77']).delete()
})
