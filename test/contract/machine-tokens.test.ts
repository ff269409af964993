// Access tokens of service accounts for one app (docs/guard-a-backend/service-to-service.md).
import { randomUUID } from 'node:crypto'
import * as oidc from 'openid-client'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { assertionOf } from '../support/consumer.ts'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { registerPermissions } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { auditEvents } from '../support/rows.ts'
import { ADMIN_EMAIL, buildApp, buildUser, type CallOptions, claimsOf, type Json, unique } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service, { machine_tokens: true, auto_grant_on_signup: true })
const grant = { grant_type: 'client_credentials' }
const core = ['users:read_self', 'users:update_self']

async function buildAccount(settings: Json = {}): Promise<Json> {
  const body = { name: randomUUID(), service: unique('caller'), scopes: ['tokens:issue'], app_codes: [app.code], ...settings }
  const reply = await service.admin('POST', '/admin/service-accounts', { body })
  expect(reply.status).toBe(201)
  return reply.body
}

const ask = (token: string | undefined, body: Json = {}, options: CallOptions = {}) =>
  service.call('POST', '/auth/token', { token, body: { ...grant, app_code: app.code, ...body }, ...options })

async function tokenOf(account: Json, app_code: string = app.code): Promise<string> {
  const reply = await ask(account.token, { app_code })
  expect(reply.body).toMatchObject({ access_token: expect.any(String) })
  return reply.body.access_token
}

const permit = (account: Json, permissions: string[]) =>
  service.admin('PUT', `/admin/service-accounts/${account.id}/permissions`, { body: { permissions } })

/** Registers two permissions of a new service, and lists that service in the app. */
async function declare(of: Json = app): Promise<{ read: string; write: string }> {
  const resource = unique('thing')
  const [read, write] = [`${resource}:read`, `${resource}:write`] as const
  const name = unique('service')
  await registerPermissions(service, name, [read, write])
  const { service_codes } = (await service.admin('GET', `/admin/apps/${of.id}`)).body
  await service.admin('PATCH', `/admin/apps/${of.id}`, { body: { service_codes: [...service_codes, name] } })
  return { read, write }
}

test('a service account gets a token for an app by bearer, HTTP Basic or client_secret, as JSON or as a form', async () => {
  const account = await buildAccount()
  const { token } = account
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const basic = { authorization: `Basic ${Buffer.from(`billing:${token}`).toString('base64')}` }
  const fields = { ...grant, app_code: app.code }
  for (const options of [
    { token, body: fields },
    { headers: basic, body: fields },
    { body: { ...fields, client_secret: token } },
    { token, headers: form, body: new URLSearchParams(fields).toString() },
    { headers: { ...form, ...basic }, body: new URLSearchParams(fields).toString() },
    { headers: form, body: new URLSearchParams({ ...fields, client_secret: token }).toString() },
  ]) {
    const reply = await service.call('POST', '/auth/token', options)
    expectHeaders(reply)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect({ status: reply.status, body: reply.body }).toEqual({
      status: 200,
      body: { token_type: 'Bearer', access_token: expect.any(String), expires_in: 900 },
    })
  }
})

test('an ordinary OAuth client gets a machine token', async () => {
  const { token } = await buildAccount()
  const metadata = { issuer: service.url, token_endpoint: `${service.url}/api/v1/auth/token` }
  for (const auth of [oidc.ClientSecretBasic(token), oidc.ClientSecretPost(token)]) {
    const client = new oidc.Configuration(metadata, 'billing', undefined, auth)
    oidc.allowInsecureRequests(client)
    const answer = await oidc.clientCredentialsGrant(client, { app_code: app.code })
    expect(claimsOf(answer.access_token)).toMatchObject({ aud: app.code, kind: 'service' })
  }
})

test('a token request that shows the service token in two ways is refused', async () => {
  const { token } = await buildAccount()
  const basic = { authorization: `Basic ${Buffer.from(`billing:${token}`).toString('base64')}` }
  const body = { ...grant, app_code: app.code, client_secret: token }
  expectError(await service.call('POST', '/auth/token', { token, body }), 'validation_failed')
  expectError(await service.call('POST', '/auth/token', { headers: basic, body }), 'validation_failed')
})

test.each([
  [{ grant_type: 'password' }, 'grant_type', 'invalid_value'],
  [{ grant_type: undefined }, 'grant_type', 'required'],
  [{ app_code: undefined }, 'app_code', 'required'],
  [{ app_code: '' }, 'app_code', 'too_short'],
  [{ app_code: 7 }, 'app_code', 'invalid_type'],
])('a token request with %j is refused, and the error names the field %s', async (body, path, code) => {
  const { token } = await buildAccount()
  expect((await ask(token, body)).body).toMatchObject({ code: 'validation_failed', errors: [{ path, code }] })
})

test('a machine token names its account, its app and its kind in claims, and no session or user', async () => {
  const account = await buildAccount()
  const claims = claimsOf(await tokenOf(account))
  const now = Math.floor(service.deps.clock() / 1000)
  expect(claims).toEqual({
    app_id: app.id,
    app_code: app.code,
    uid: account.id,
    kind: 'service',
    tv: 0,
    iss: 'gatehouse',
    aud: app.code,
    exp: claims.iat + 900,
    nbf: claims.iat,
    iat: expect.any(Number),
    jti: expect.any(String),
    roles: ['service'],
    permissions: core,
  })
  expect(Math.abs(claims.iat - now)).toBeLessThanOrEqual(60)
})

test('a machine token carries the permissions of its account for services of the app, and the core permissions', async () => {
  const account = await buildAccount()
  const { read, write } = await declare()
  const foreign = await declare(await buildApp(service))
  expect((await permit(account, [write, read, foreign.read])).body.permissions).toEqual([read, write, foreign.read].sort())
  expect(claimsOf(await tokenOf(account)).permissions).toEqual([...core, read, write].sort())
  expect((await permit(account, [read])).body.permissions).toEqual([read])
  expect(claimsOf(await tokenOf(account)).permissions).toEqual([...core, read].sort())
})

test('the permissions of an account change as asked, and each change with an effect is audited once', async () => {
  const account = await buildAccount()
  const { read, write } = await declare()
  const path = `/admin/service-accounts/${account.id}/permissions`
  const patch = async (body: Json) => (await service.admin('PATCH', path, { body })).body
  expect(await patch({ add: [read] })).toMatchObject({ id: account.id, permissions: [read] })
  expect(await patch({ add: [write], remove: [read] })).toMatchObject({ permissions: [write] })
  for (const nothing of [{ add: [write] }, { remove: [read, 'no:such'] }, {}])
    expect(await patch(nothing)).toMatchObject({ permissions: [write] })
  const changes = await auditEvents(service, { event: 'service_account.permissions_changed' })
  const mine = changes.map(({ details }) => details).filter((of) => of.service_account_id === account.id)
  expect(mine.map(({ before, after }) => [before.permissions, after.permissions])).toEqual([
    [[], [read]],
    [[read], [write]],
  ])
  for (const [method, field] of [
    ['PUT', 'permissions'],
    ['PATCH', 'add'],
  ] as const) {
    const reply = await service.admin(method, path, { body: { [field]: [read, 'no:such'] } })
    expect(reply.body).toMatchObject({ status: 400, errors: [{ path: `${field}.1`, code: 'invalid_value' }] })
    const unknown = `/admin/service-accounts/${randomUUID()}/permissions`
    expectError(await service.admin(method, unknown, { body: { [field]: [] } }), 'not_found')
  }
  expect(await patch({ add: [read], remove: [read] })).toMatchObject({ code: 'validation_failed' })
})

test('concurrent changes leave an account with the permissions that the last one set, without duplicates', async () => {
  const account = await buildAccount()
  const { read, write } = await declare()
  const path = `/admin/service-accounts/${account.id}/permissions`
  const bodies = [{ add: [read], remove: [write] }, { add: [write], remove: [read] }, { add: [read, write] }]
  const replies = await atOnce(24, (index) => service.admin('PATCH', path, { body: bodies[index % 3] }))
  expect(replies.map(({ status }) => status)).toEqual(Array(24).fill(200))
  await permit(account, [write])
  expect(claimsOf(await tokenOf(account)).permissions).toEqual([...core, write].sort())
})

describe('refused machine tokens', () => {
  test('an account gets no token without the scope, for an app that it does not list, or for an unknown code', async () => {
    const other = await buildApp(service, { machine_tokens: true })
    const account = await buildAccount()
    for (const app_code of [other.code, 'no-such-app']) expectError(await ask(account.token, { app_code }), 'scope_required')
    const scopes = ['tokens:introspect', 'users:register_or_return', 'users:override', 'limits:exempt', 'permissions:register']
    expectError(await ask((await buildAccount({ scopes })).token), 'scope_required')
  })

  test('a token request for an app without machine_tokens, or for an inactive app, is refused', async () => {
    const closed = await buildApp(service)
    const account = await buildAccount({ app_codes: [closed.code] })
    expectError(await ask(account.token, { app_code: closed.code }), 'machine_tokens_disabled')
    await service.admin('PATCH', `/admin/apps/${closed.id}`, { body: { machine_tokens: true } })
    expect((await ask(account.token, { app_code: closed.code })).status).toBe(200)
    await service.admin('PATCH', `/admin/apps/${closed.id}`, { body: { status: 'inactive' } })
    expectError(await ask(account.token, { app_code: closed.code }), 'app_inactive')
  })

  test('the app authctl never gets machine tokens', async () => {
    expectError(await service.admin('PATCH', '/admin/apps/authctl', { body: { machine_tokens: true } }), 'built_in')
    const account = await buildAccount({ app_codes: ['authctl'] })
    expectError(await ask(account.token, { app_code: 'authctl' }), 'machine_tokens_disabled')
  })

  test('only a service token gets a machine token, not a user, an admin, an assertion or a machine token', async () => {
    const account = await buildAccount()
    expectError(await ask(undefined), 'token_missing')
    for (const token of [
      (await buildUser(service, app)).access_token,
      (await service.login(ADMIN_EMAIL, 'authctl')).body.access_token,
      assertionOf(app),
      await tokenOf(account),
      `gsa_${'x'.repeat(49)}`,
    ])
      expectError(await ask(token), 'token_invalid')
  })

  test('an expired account gets no token, and a token expires with its account', async () => {
    const expires_at = new Date(service.deps.clock() + 120_000).toISOString()
    const account = await buildAccount({ expires_at })
    const { body } = await ask(account.token)
    expect(claimsOf(body.access_token).exp).toBe(Math.floor(Date.parse(expires_at) / 1000))
    expect(body.expires_in).toBeLessThanOrEqual(120)
    await service.deps
      .db('service_accounts')
      .where({ id: account.id })
      .update({ expires_at: service.deps.clock() - 1 })
    expectError(await ask(account.token), 'token_expired')
  })
})

test('an account that asks more than 600 times a minute is refused, and other accounts are not', async () => {
  const [busy, quiet] = [await buildAccount(), await buildAccount()]
  await ask(busy.token)
  await service.deps
    .db('rate_limits')
    .where({ key: `machine_token:${busy.id}` })
    .update({ count: 600 })
  const reply = await ask(busy.token)
  expectError(reply, 'rate_limited')
  expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await ask(quiet.token)).status).toBe(200)
})

test('the audit records each token with its account, app and expiry, and no part of the token', async () => {
  const account = await buildAccount()
  const token = await tokenOf(account)
  const [event] = await auditEvents(service, { event: 'machine_token.issued', actor_id: account.id })
  expect(event).toMatchObject({ actor_type: 'service_account', app_id: app.id, user_id: null })
  const expires_at = new Date(claimsOf(token).exp * 1000).toISOString()
  expect(event.details).toEqual({ service_account_id: account.id, expires_at })
  expect(JSON.stringify(event)).not.toContain(token.split('.')[2])
})

describe('machine tokens at the service', () => {
  test('registration and introspection do not accept a machine token', async () => {
    const token = await tokenOf(await buildAccount())
    const body = { email: `${randomUUID()}@example.com`, password: 'correct horse battery', mode: 'register_or_return' }
    expectError(await service.call('POST', '/auth/register', { token, body: { ...body, app_code: app.code } }), 'token_invalid')
    const asked = { token: assertionOf(app), body: { token } }
    expect((await service.call('POST', '/auth/introspect', asked)).body).toEqual({ active: false })
  })

  test('a machine token with the claims of an admin is refused by the admin API and by /auth/me', async () => {
    const admin = claimsOf((await service.login(ADMIN_EMAIL, 'authctl')).body.access_token)
    expect((await service.call('GET', '/admin/settings', { token: forgeToken(admin) })).status).toBe(200)
    const forged = forgeToken({ ...admin, kind: 'service' })
    expectError(await service.call('GET', '/admin/settings', { token: forged }), 'token_invalid')
    expectError(await service.call('GET', '/auth/me', { token: forged }), 'token_invalid')
  })
})

test('a machine token stays valid when its account gains rights', async () => {
  const account = await buildAccount()
  const { read, write } = await declare()
  await permit(account, [read])
  const token = await tokenOf(account)
  await permit(account, [read, write])
  const more = { name: randomUUID(), scopes: ['tokens:issue', 'limits:exempt'], app_codes: [app.code, 'authctl'] }
  expect((await service.admin('PATCH', `/admin/service-accounts/${account.id}`, { body: more })).body).toMatchObject(more)
  expect(claimsOf(await tokenOf(account)).tv).toBe(claimsOf(token).tv)
})

test('the trace of a machine token shows its account, its permissions, and whether it is live, expired, ended or forged', async () => {
  const trace = async (token: string) => (await service.admin('POST', '/admin/tokens/trace', { body: { token } })).body
  const account = await buildAccount()
  const { read } = await declare()
  await permit(account, [read])
  const token = await tokenOf(account)
  expect(await trace(token)).toMatchObject({
    kind: 'machine',
    state: 'live',
    user: null,
    session: null,
    service_account: { id: account.id, name: account.name },
    roles: ['service'],
    permissions: [...core, read].sort(),
    administers: false,
  })
  const claims = claimsOf(token)
  expect(await trace(forgeToken({ ...claims, exp: claims.iat - 1, iat: claims.iat - 900 }))).toMatchObject({ state: 'expired' })
  expect(await trace(forgeToken({ ...claims, tv: claims.tv + 1 }))).toMatchObject({ kind: 'machine', state: 'forged' })
  expect(await trace(forgeToken({ ...claims, uid: 'nobody' }))).toMatchObject({ state: 'ended', service_account: null })
  expect(await trace(forgeToken({ ...claims, iss: 'another' }))).toMatchObject({ kind: 'unknown' })
  await permit(account, [])
  expect(await trace(token)).toMatchObject({ kind: 'machine', state: 'ended', permissions: [] })
})
