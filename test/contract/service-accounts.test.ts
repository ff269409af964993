import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { isServiceToken } from '../../packages/server/src/lib/service-token.ts'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildService, type Json, PASSWORD, someEmail } from '../support/service.ts'

const path = '/admin/service-accounts'
/** What an account needs to register users through these apps. */
const returning = (...apps: Json[]) => ({ scopes: ['users:register_or_return'], app_codes: apps.map(({ code }) => code) })

const service = serviceFixture()

/** A service account; its record with the token. */
async function buildAccount(settings: Record<string, unknown> = {}): Promise<Json> {
  const reply = await service.admin('POST', path, { body: { name: randomUUID(), service: 'notes', ...settings } })
  if (reply.status !== 201) throw new Error(`no service account: ${JSON.stringify(reply.body)}`)
  return reply.body
}

function registerAs(token: string, app: string | undefined, email = someEmail()) {
  return service.call('POST', '/auth/register', {
    token,
    body: { email, password: PASSWORD, mode: 'register_or_return', ...(app === undefined ? {} : { app_code: app }) },
  })
}

test('a new account shows its token once and keeps only its hash', async () => {
  const reply = await service.admin('POST', path, { body: { name: ' Deploys ', service: 'notes' } })
  expect(reply.status).toBe(201)
  expect(reply.headers.get('cache-control')).toBe('no-store')
  const { token, ...record } = reply.body
  expect(record).toEqual({
    id: expect.any(String),
    name: 'Deploys',
    service: 'notes',
    scopes: ['permissions:register'],
    app_codes: [],
    permissions: [],
    expires_at: null,
    last_used_at: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect(token).toMatch(/^gsa_[0-9A-Za-z]{49}$/)
  expect((await service.admin('GET', path)).body.items).toContainEqual(record)
  expect(JSON.stringify(await service.deps.db('service_accounts').where({ id: record.id }))).not.toContain(token)
})

test('a new account keeps each given entry once, and reads null and the empty string as not given', async () => {
  const expires_at = new Date(service.deps.clock() + 3_600_000).toISOString()
  const apps = [(await buildApp(service)).code, (await buildApp(service)).code]
  const account = await buildAccount({
    scopes: ['users:register_or_return', 'permissions:register', 'users:register_or_return'],
    app_codes: [apps[1], apps[0], apps[1]],
    expires_at,
  })
  expect(account).toMatchObject({
    scopes: ['users:register_or_return', 'permissions:register'],
    app_codes: [...apps].sort(),
    expires_at,
  })
  expect(await buildAccount({ app_codes: apps })).toMatchObject({ scopes: ['permissions:register'], app_codes: [...apps].sort() })
  expect(await buildAccount({ scopes: null, app_codes: '', expires_at: null })).toMatchObject({
    scopes: ['permissions:register'],
    app_codes: [],
    expires_at: null,
  })
  expect(await buildAccount({ scopes: [] })).toMatchObject({ scopes: [] })
})

test.each([
  [{ service: 'notes' }, 'name', 'required'],
  [{ name: 'CI' }, 'service', 'required'],
  [{ name: '', service: 'notes' }, 'name', 'too_short'],
  [{ name: 'x'.repeat(201), service: 'notes' }, 'name', 'too_long'],
  [{ name: 'CI', service: ' blank before it' }, 'service', 'invalid_value'],
  [{ name: 'CI', service: 'notes', scopes: ['users:delete'] }, 'scopes.0', 'invalid_value'],
  [{ name: 'CI', service: 'notes', scopes: ['users:register_or_return'] }, 'app_codes', 'required'],
  [{ name: 'CI', service: 'notes', scopes: ['users:override'], app_codes: null }, 'app_codes', 'required'],
  [
    { name: 'CI', service: 'notes', scopes: ['permissions:register', 'tokens:introspect'], app_codes: [] },
    'app_codes',
    'required',
  ],
  [{ name: 'CI', service: 'notes', scopes: ['limits:exempt'], app_codes: '' }, 'app_codes', 'required'],
  [{ name: 'CI', service: 'notes', app_codes: ['authctl', 'no-such-app'] }, 'app_codes.1', 'invalid_value'],
  [{ name: 'CI', service: 'notes', scopes: 'permissions:register' }, 'scopes', 'invalid_type'],
  [{ name: 'CI', service: 'notes', app_codes: ['ok', 'Not Kebab'] }, 'app_codes.1', 'invalid_value'],
  [{ name: 'CI', service: 'notes', expires_at: 'tomorrow' }, 'expires_at', 'invalid_value'],
  [{ name: 'CI', service: 'notes', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', 'invalid_value'],
  [{ name: 'CI', service: 'notes', token: 'gsa_mine' }, 'token', 'unknown_field'],
])('%j is refused with an error at the field %s', async (body, field, code) => {
  const reply = await service.admin('POST', path, { body })
  expect(reply.body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ path: field, code }] })
})

const patch = (id: string, body: Json) => service.admin('PATCH', `${path}/${id}`, { body })

test('a change keeps the token and all other fields, and is audited once', async () => {
  const [app, other] = [await buildApp(service), await buildApp(service)]
  const { token, ...account } = await buildAccount(returning(app))
  const expires_at = new Date(service.deps.clock() + 3_600_000).toISOString()
  const change = {
    name: randomUUID(),
    scopes: ['limits:exempt', 'users:register_or_return'],
    app_codes: [other.code],
    expires_at,
  }
  const changed = await patch(account.id, change)
  expect(changed).toMatchObject({ status: 200, body: { ...account, ...change, updated_at: expect.any(String) } })
  expect(changed.body).not.toHaveProperty('token')
  expect((await registerAs(token, app.code)).status).toBe(403)
  expect((await registerAs(token, other.code)).status).toBe(201)
  for (const nothing of [{}, change, { app_codes: [other.code, other.code] }]) {
    expect((await patch(account.id, nothing)).body.updated_at).toBe(changed.body.updated_at)
  }
  const events = await auditEvents(service, { event: 'service_account.updated' })
  const mine = events.map(({ details }) => details).filter((of) => of.service_account_id === account.id)
  expect(mine).toMatchObject([{ before: { name: account.name, app_codes: [app.code] }, after: change }])
  const cleared = { scopes: ['permissions:register'], app_codes: [], expires_at: null }
  expect((await patch(account.id, { scopes: null, app_codes: '', expires_at: '' })).body).toMatchObject(cleared)
})

test.each([
  [{ name: '' }, 'name', 'too_short'],
  [{ service: 'other' }, 'service', 'invalid_value'],
  [{ scopes: ['users:delete'] }, 'scopes.0', 'invalid_value'],
  [{ app_codes: [] }, 'app_codes', 'required'],
  [{ app_codes: ['no-such-app', 'authctl'] }, 'app_codes.0', 'invalid_value'],
  [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', 'invalid_value'],
  [{ permissions: ['notes:read'] }, 'permissions', 'invalid_value'],
  [{ token: 'gsa_mine' }, 'token', 'unknown_field'],
])('the change %j is refused with an error at the field %s, and changes nothing', async (body, field, code) => {
  const { token: _, ...account } = await buildAccount(returning(await buildApp(service)))
  const reply = await patch(account.id, { name: randomUUID(), ...body })
  expect(reply.body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ path: field, code }] })
  expect((await service.admin('GET', path)).body.items).toContainEqual(account)
})

test('a change to the name of another account is refused, and an unknown account is 404', async () => {
  const [one, other] = [await buildAccount(), await buildAccount()]
  expectError(await patch(one.id, { name: other.name }), 'service_account_name_taken')
  expectError(await patch(randomUUID(), { name: 'Nobody' }), 'not_found')
})

test('concurrent changes leave the values of one of them', async () => {
  const apps = [await buildApp(service), await buildApp(service)]
  const { id } = await buildAccount(returning(...apps))
  const bodies = apps.map(({ code }, index) => ({ name: `${id}-${index}`, app_codes: [code] }))
  const replies = await Promise.all(Array.from({ length: 16 }, (_, index) => patch(id, bodies[index % 2] ?? {})))
  expect(replies.map(({ status }) => status)).toEqual(Array(16).fill(200))
  const { items } = (await service.admin('GET', path)).body
  expect(bodies).toContainEqual((({ name, app_codes }) => ({ name, app_codes }))(items.find((each: Json) => each.id === id)))
})

test('accounts are listed newest first, by service and in pages', async () => {
  const name = `service-${randomUUID()}`
  const ids = []
  for (let count = 0; count < 3; count += 1) ids.unshift((await buildAccount({ service: name })).id)
  const first = (await service.admin('GET', `${path}?service=${name}&limit=2`)).body
  const second = (await service.admin('GET', `${path}?service=${name}&limit=2&cursor=${first.next_cursor}`)).body
  expect([...first.items, ...second.items].map((item: Json) => item.id)).toEqual(ids)
  expect(second.next_cursor).toBeNull()
  expect((await service.admin('GET', `${path}?service=nobody`)).body.items).toEqual([])
})

test('register_or_return with the scope creates the user, then returns it, and never gives tokens', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { token, id } = await buildAccount(returning(app))
  const made = await registerAs(token, app.code)
  expect(made.status).toBe(201)
  const again = await registerAs(token, app.code, made.body.user.email)
  expect(again.status).toBe(200)
  expect(again.body).toMatchObject({ created: false, user: { id: made.body.user.id } })
  expect(made.body).not.toHaveProperty('access_token')
  expect(again.body).not.toHaveProperty('access_token')
  const [registered] = await auditEvents(service, { event: 'user.registered', user_id: made.body.user.id })
  expect(registered).toMatchObject({ actor_type: 'service_account', actor_id: id })
})

test('register_or_return without the scope is 403 scope_required, whether or not app and user exist', async () => {
  const app = await buildApp(service)
  const others = ['permissions:register', 'users:override', 'tokens:introspect', 'limits:exempt']
  for (const settings of [{}, { scopes: others, app_codes: [app.code] }]) {
    const { token } = await buildAccount(settings)
    for (const code of [app.code, 'no-such-app', undefined]) {
      expect((await registerAs(token, code)).body).toMatchObject({ status: 403, code: 'scope_required' })
    }
  }
})

test('an app that takes the code of a deleted one gets no service account of it', async () => {
  const [lost, kept] = [await buildApp(service), await buildApp(service)]
  const { token, id } = await buildAccount(returning(lost, kept))
  expect((await registerAs(token, lost.code)).status).toBe(201)
  expect((await service.admin('DELETE', `/admin/apps/${lost.id}`)).status).toBe(204)
  expect((await service.admin('POST', '/admin/apps', { body: { code: lost.code, name: 'Another' } })).status).toBe(201)
  expect((await registerAs(token, lost.code)).body).toMatchObject({ status: 403, code: 'scope_required' })
  expect((await registerAs(token, kept.code)).status).toBe(201)
  const listed = (await service.admin('GET', `${path}?limit=200`)).body.items.find((item: Json) => item.id === id)
  expect(listed.app_codes).toEqual([kept.code])
})

test('an account for some apps registers users through these apps only, and learns nothing about others', async () => {
  const [own, other] = [await buildApp(service), await buildApp(service)]
  const { token } = await buildAccount(returning(own))
  expect((await registerAs(token, own.code)).status).toBe(201)
  expect((await registerAs(token, other.code)).body).toMatchObject({ status: 403, code: 'scope_required' })
  expect((await registerAs(token, 'no-such-app')).body).toMatchObject({ status: 403, code: 'scope_required' })
  expect((await registerAs(token, undefined)).body).toMatchObject({ status: 400, code: 'app_code_required' })
})

test('the app_codes of an account also apply to the default app', async () => {
  const service = await buildService({ AUTH_DEFAULT_APP_CODE: 'default-app' })
  for (const code of ['default-app', 'notes']) await service.admin('POST', '/admin/apps', { body: { code, name: code } })
  const statusFor = async (app: string) => {
    const settings = { name: randomUUID(), service: 'notes', ...returning({ code: app }) }
    const account = await service.admin('POST', path, { body: settings })
    const body = { email: 'user@example.com', password: PASSWORD, mode: 'register_or_return' }
    return (await service.call('POST', '/auth/register', { token: account.body.token, body })).body.code
  }
  expect(await statusFor('notes')).toBe('scope_required')
  expect(await statusFor('default-app')).toBeUndefined()
})

test('only one account can have a name until it is deleted, even if two are created at once', async () => {
  const name = `Deploys ${randomUUID()}`
  const create = () => service.admin('POST', path, { body: { name, service: 'notes' } })
  const replies = await Promise.all([create(), create(), create()])
  const [made, ...others] = replies.filter(({ status }) => status === 201)
  expect(others).toEqual([])
  for (const reply of replies) if (reply !== made) expectError(reply, 'service_account_name_taken')
  expect(await service.deps.db('service_accounts').where({ name })).toHaveLength(1)
  expect((await service.admin('DELETE', `${path}/${made!.body.id}`)).status).toBe(204)
  expect((await create()).status).toBe(201)
})

test('a rotation ends the old token at once, and the new token works', async () => {
  const app = await buildApp(service)
  const { token, ...before } = await buildAccount(returning(app))
  expect((await registerAs(token, app.code)).status).toBe(201)
  const rotated = await service.admin('POST', `${path}/${before.id}/rotate`)
  expect(rotated.status).toBe(200)
  expect(rotated.headers.get('cache-control')).toBe('no-store')
  expect(rotated.body).toEqual({
    ...before,
    token: expect.any(String),
    last_used_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect(rotated.body.token).not.toBe(token)
  expect((await registerAs(token, app.code)).body).toMatchObject({ status: 401, code: 'token_invalid' })
  expect((await registerAs(rotated.body.token, app.code)).status).toBe(201)
})

test('one token is left after concurrent rotations', async () => {
  const app = await buildApp(service)
  const { id } = await buildAccount(returning(app))
  const replies = await Promise.all(Array.from({ length: 12 }, () => service.admin('POST', `${path}/${id}/rotate`)))
  const uses = await Promise.all(replies.map(({ body }) => registerAs(body.token, app.code)))
  expect(uses.map(({ status }) => status).sort()).toEqual([201, ...Array(11).fill(401)])
})

test('a deleted account leaves the list, and its token is dead', async () => {
  const app = await buildApp(service)
  const { id, token } = await buildAccount(returning(app))
  expect((await service.admin('DELETE', `${path}/${id}`)).status).toBe(204)
  expect((await registerAs(token, app.code)).body).toMatchObject({ status: 401, code: 'token_invalid' })
  expect((await service.admin('GET', `${path}?limit=200`)).body.items.map((item: Json) => item.id)).not.toContain(id)
  for (const [method, suffix] of [
    ['DELETE', ''],
    ['POST', '/rotate'],
  ] as const) {
    expect((await service.admin(method, `${path}/${id}${suffix}`)).body).toMatchObject({ status: 404, code: 'not_found' })
    expect((await service.admin(method, `${path}/no-uuid${suffix}`)).body).toMatchObject({ status: 404, code: 'not_found' })
  }
})

test('an account ends at its expires_at, and a rotation does not prolong it', async () => {
  const service = await buildService()
  const app = await buildApp(service)
  const expires_at = new Date(service.deps.clock() + 60_000).toISOString()
  const { body } = await service.admin('POST', path, {
    body: { name: randomUUID(), service: 'notes', ...returning(app), expires_at },
  })
  const use = (token: string) =>
    service.call('POST', '/auth/register', {
      token,
      body: { email: `u-${randomUUID()}@example.com`, password: PASSWORD, mode: 'register_or_return', app_code: app.code },
    })
  expect((await use(body.token)).status).toBe(201)
  service.advance(60)
  expect((await use(body.token)).body).toMatchObject({ status: 401, code: 'token_expired' })
  const rotated = await service.admin('POST', `${path}/${body.id}/rotate`)
  expect((await use(rotated.body.token)).body).toMatchObject({ status: 401, code: 'token_expired' })
})

test('last_used_at is accurate to a minute, without a write for every call', async () => {
  const service = await buildService()
  const app = await buildApp(service)
  const { body } = await service.admin('POST', path, { body: { name: randomUUID(), service: 'notes', ...returning(app) } })
  const use = async (): Promise<number> => {
    await service.call('POST', '/auth/register', {
      token: body.token,
      body: { email: 'same@example.com', password: PASSWORD, mode: 'register_or_return', app_code: app.code },
    })
    return (await service.deps.db('service_accounts').where({ id: body.id }).first('last_used_at')).last_used_at
  }
  const first = await use()
  expect(Math.abs(first - service.deps.clock())).toBeLessThan(10_000)
  service.advance(30)
  expect(await use()).toBe(first)
  service.advance(31)
  const second = await use()
  expect(second).toBeGreaterThanOrEqual(first + 60_000)
  expect((await service.admin('GET', path)).body.items[0].last_used_at).toBe(new Date(second).toISOString())
})

test('a token with a wrong checksum is refused without a database query', async () => {
  const { token } = await buildAccount(returning({ code: 'authctl' }))
  const queries: string[] = []
  const note = ({ sql }: { sql: string }) => queries.push(sql)
  service.deps.db.on('query', note)
  try {
    const mistyped = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
    for (const wrong of [mistyped, token.slice(0, -1), `${token}0`, 'gsa_', `gsa_${'0'.repeat(49)}`, token.toUpperCase()]) {
      expect(isServiceToken(wrong)).toBe(false)
      expect((await service.call('GET', '/admin/apps', { token: wrong })).body).toMatchObject({
        status: 401,
        code: 'token_invalid',
      })
    }
    expect(queries).toEqual([])
  } finally {
    service.deps.db.removeListener('query', note)
  }
})

test('a service account cannot act as a user or as an admin', async () => {
  const scopes = ['permissions:register', 'users:register_or_return', 'users:override', 'tokens:introspect', 'limits:exempt']
  const { token } = await buildAccount({ scopes, app_codes: ['authctl'] })
  expect((await service.call('GET', '/auth/me', { token })).body).toMatchObject({ status: 401, code: 'token_invalid' })
  for (const route of ['/admin/apps', path, '/admin/audit', '/admin/explain?email=a@example.com']) {
    expect((await service.call('GET', route, { token })).body).toMatchObject({ status: 403, code: 'system_admin_required' })
  }
})

test('creating, rotating and deleting an account are audited with the admin who did it', async () => {
  const { id, token } = await buildAccount()
  await service.admin('POST', `${path}/${id}/rotate`)
  await service.admin('DELETE', `${path}/${id}`)
  const events = []
  for (const event of ['service_account.created', 'service_account.rotated', 'service_account.deleted']) {
    const found = (await auditEvents(service, { event })).filter(({ details }) => (details.after ?? details.before).id === id)
    expect(found).toEqual([expect.objectContaining({ actor_type: 'user', actor_id: expect.any(String) })])
    events.push(...found)
  }
  expect(JSON.stringify(events)).not.toContain(token)
})
