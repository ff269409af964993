// Introspection (RFC 7662) for backends without the SDK.
import { randomUUID } from 'node:crypto'
import * as oidc from 'openid-client'
import { describe, expect, test } from 'vitest'
import { assertionOf } from '../support/consumer.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { addMember, assignRole, buildOrganization, buildRole, closeAccount } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  type CallOptions,
  claimsOf,
  type Json,
  type Reply,
} from '../support/service.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_IP: '5/60' })
const app = appFixture(service)
const other = appFixture(service)

const assertion = (of: Json = app) => assertionOf(of, { now: service.deps.clock() })
const introspect = (token: unknown, options: CallOptions = {}): Promise<Reply> =>
  service.call('POST', '/auth/introspect', { token: assertion(), body: { token }, ...options })
const form = (fields: Record<string, string> | [string, string][]): CallOptions => ({
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
})
async function someTokens(of: Json = app): Promise<Json> {
  // Registrations and logins are rate-limited by address; introspection by a known caller is not.
  await service.deps.db('rate_limits').delete()
  return buildUser(service, of)
}
async function serviceAccount(settings: Record<string, unknown> = {}): Promise<string> {
  const body = { name: randomUUID(), service: `backend-${randomUUID().slice(0, 8)}`, ...settings }
  return (await service.admin('POST', '/admin/service-accounts', { body })).body.token
}

function expectInactive(reply: Reply, label = ''): void {
  expect({ status: reply.status, body: reply.body, label }).toEqual({ status: 200, body: { active: false }, label })
  expectHeaders(reply)
}

describe('a living token', () => {
  test('a living token is active, with the members of RFC 7662 and all its claims', async () => {
    const { access_token, user } = await someTokens()
    const claims = claimsOf(access_token)
    const reply = await introspect(access_token)
    expectHeaders(reply)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.body).toEqual({
      ...claims,
      active: true,
      token_type: 'Bearer',
      client_id: app.code,
      sub: user.id,
      username: user.email,
      scope: claims.permissions.join(' '),
    })
    expect(claims.permissions.length).toBeGreaterThan(0)
  })

  test('the database decides, and the claims about user, roles, organization and end are ignored', async () => {
    const { access_token, user } = await someTokens()
    const claims = claimsOf(access_token)
    const organization = await buildOrganization(service)
    const liar = {
      ...claims,
      email: 'boss@example.com',
      first_name: 'Boss',
      namespace: 'staff',
      org_id: organization.id,
      org_slug: organization.slug,
      roles: ['super_admin'],
      permissions: ['payroll:delete'],
      is_boss: true,
    }
    const told = (await introspect(forgeToken(liar))).body
    expect(told).toEqual((await introspect(access_token)).body)

    const role = await buildRole(service, 'global')
    await assignRole(service, user.id, role)
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { first_name: 'Ada' } })
    expect((await introspect(access_token)).body).toMatchObject({ first_name: 'Ada', roles: ['base_user', role].sort() })
  })

  test('a token with an organization shows the current membership, and is inactive once the membership ends', async () => {
    const { user } = await someTokens()
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_member'])
    const { access_token } = (await service.login(user.email, app.code, { organization_id: organization.id })).body
    await addMember(service, organization.id, user.id, ['org_admin', 'org_member'])
    expect((await introspect(access_token)).body).toMatchObject({ org_id: organization.id, roles: ['org_admin', 'org_member'] })
    await service.admin('DELETE', `/admin/organizations/${organization.id}/members/${user.id}`)
    expectInactive(await introspect(access_token))
  })

  test('a token is inactive when its grant ends, whatever its claims say', async () => {
    const { access_token, user } = await someTokens()
    const expires_at = new Date(Math.floor(service.deps.clock() / 1000) * 1000 + 120_000).toISOString()
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { body: { expires_at } })
    expectInactive(await introspect(access_token))
    const { tv, ...claims } = claimsOf(access_token)
    const forged = forgeToken({ ...claims, tv: tv + 1 })
    expect((await introspect(forged)).body.exp).toBe(Date.parse(expires_at) / 1000)
  })

  test('a token may be sent as a form, with a hint and with unknown fields', async () => {
    const { access_token } = await someTokens()
    const type = 'application/x-www-form-urlencoded; charset=UTF-8'
    const requests: Record<string, string>[] = [
      { token: access_token },
      { token: access_token, token_type_hint: 'access_token', resource: 'x', a: '' },
    ]
    for (const fields of requests) {
      expect((await introspect(undefined, form(fields))).body.active).toBe(true)
      expect((await introspect(undefined, { ...form(fields), headers: { 'content-type': type } })).body.active).toBe(true)
      expect((await introspect(undefined, { body: fields })).body.active).toBe(true)
    }
    expect((await introspect(undefined, { body: { token: access_token, token_type_hint: 'refresh_token' } })).body.active).toBe(
      true,
    )
  })

  test('a new token is active at once, and inactive at its end', async () => {
    const late = await buildService()
    const home = await buildApp(late, { auto_grant_on_signup: true })
    const { access_token } = await buildUser(late, home)
    const ask = () =>
      late.call('POST', '/auth/introspect', {
        token: assertionOf(home, { now: late.deps.clock() }),
        body: { token: access_token },
      })
    expect((await ask()).body.active).toBe(true)
    late.advance(600)
    expect((await ask()).body.active).toBe(true)
    late.advance(300)
    expectInactive(await ask())
  })
})

describe('a token with a valid signature that the database has ended', () => {
  test.for([
    [
      'its session was ended by a logout',
      ({ refresh_token }) => service.call('POST', '/auth/logout', { body: { refresh_token } }),
    ],
    ['its grant was revoked', ({ user }) => service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)],
    ['its user is suspended', ({ user }) => closeAccount(service, user.id, 'suspended')],
    ['its user is deleted', ({ user }) => closeAccount(service, user.id, 'deleted')],
    ['all sessions were ended', ({ access_token }) => service.call('POST', '/auth/logout-all', { token: access_token })],
  ] as [string, (tokens: Json) => Promise<unknown>][])('a token is inactive once %s', async ([, end]) => {
    const tokens = await someTokens()
    expect((await introspect(tokens.access_token)).body.active).toBe(true)
    await end(tokens)
    expectInactive(await introspect(tokens.access_token))
  })
})

describe('a token that is not valid for the caller', () => {
  test('anything that is not a token of the service is inactive, and the answer gives no reason', async () => {
    const { access_token, refresh_token } = await someTokens()
    const claims = claimsOf(access_token)
    const [header, payload, signature] = access_token.split('.')
    const hostile: Record<string, string> = {
      nothing: '',
      garbage: 'garbage',
      dots: '..',
      'a refresh token': refresh_token,
      'an assertion': assertion(),
      'a service account': await serviceAccount(),
      'a made-up service account': 'gsa_x',
      'another secret': forgeToken(claims, { secret: 'another secret that is also at least 32 characters' }),
      'another session': forgeToken({ ...claims, sid: randomUUID() }),
      'another user': forgeToken({ ...claims, uid: randomUUID() }),
      'another audience': forgeToken({ ...claims, aud: other.code }),
      'a session of another app': forgeToken({ ...claims, aud: other.code, app_id: other.id, app_code: other.code }),
      'an old version': forgeToken({ ...claims, tv: -1 }),
      'a version that is still to come': forgeToken({ ...claims, tv: claims.tv + 1 }),
      'a life of more than an hour': forgeToken({ ...claims, exp: claims.iat + 3_601 }),
      'an end in the past': forgeToken({ ...claims, exp: claims.iat - 1 }),
      'no signature': `${header}.${payload}.`,
      'a changed signature': `${header}.${payload}.${signature?.slice(1)}A`,
      'a long text': 'x'.repeat(60_000),
      'a text that no header holds': 'ключ\r\n💩',
    }
    for (const [what, token] of Object.entries(hostile)) expectInactive(await introspect(token), what)
    expect((await introspect(access_token)).body.active).toBe(true)
  })

  test('a token of another app is inactive', async () => {
    const { access_token } = await someTokens(other)
    expectInactive(await introspect(access_token))
    expect((await introspect(access_token, { token: assertion(other) })).body.active).toBe(true)
  })
})

describe('the caller of introspection', () => {
  test('a service account with the scope authenticates by bearer or HTTP Basic, and sees only tokens of its apps', async () => {
    const { access_token } = await someTokens()
    const scopes = ['tokens:introspect']
    const bound = await serviceAccount({ scopes, app_codes: [app.code] })
    const both = await serviceAccount({ scopes, app_codes: [app.code, other.code] })
    const elsewhere = await serviceAccount({ scopes, app_codes: [other.code] })
    const without = await serviceAccount({ scopes: ['users:register_or_return', 'limits:exempt'], app_codes: [app.code] })
    const basic = (password: string, user = 'backend') => ({
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    })
    for (const token of [bound, both]) {
      expect((await introspect(access_token, { token })).body.active).toBe(true)
      expect((await introspect(access_token, { token: undefined, headers: basic(token) })).body.active).toBe(true)
    }
    expectInactive(await introspect(access_token, { token: elsewhere }))
    expectInactive(await introspect(access_token, { token: undefined, headers: basic(elsewhere, '') }))
    for (const token of [without, await serviceAccount()]) {
      expectError(await introspect(access_token, { token }), 'scope_required')
      expectError(await introspect('garbage', { token: undefined, headers: basic(token) }), 'scope_required')
    }
    // Only this route takes HTTP Basic.
    expectError(
      await service.call('POST', '/auth/register', { headers: basic(bound), body: { mode: 'register_or_return' } }),
      'validation_failed',
    )
    expectError(await service.call('GET', '/revocations', { headers: basic(bound) }), 'token_missing')
    expectError(await service.call('GET', '/revocations', { token: bound }), 'token_invalid')
  })

  test('a standard client of RFC 7662 authenticates with the token of a service account or an assertion', async () => {
    const { access_token, refresh_token } = await someTokens()
    const secret = await serviceAccount({ scopes: ['tokens:introspect'], app_codes: [app.code] })
    const metadata = { issuer: service.url, introspection_endpoint: `${service.url}/api/v1/auth/introspect` }
    const byAssertion: oidc.ClientAuth = (_server, _client, _body, headers) =>
      headers.set('authorization', `Bearer ${assertion()}`)
    for (const auth of [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret), byAssertion]) {
      const client = new oidc.Configuration(metadata, 'my backend', undefined, auth)
      oidc.allowInsecureRequests(client)
      const answer = await oidc.tokenIntrospection(client, access_token, { token_type_hint: 'access_token' })
      expect(answer).toMatchObject({ active: true, client_id: app.code, uid: claimsOf(access_token).uid })
      expect(await oidc.tokenIntrospection(client, refresh_token)).toEqual({ active: false })
    }
    for (const auth of [
      oidc.ClientSecretBasic('gsa_wrong'),
      oidc.ClientSecretPost('gsa_wrong'),
      oidc.ClientSecretPost('wrong'),
    ]) {
      const stranger = new oidc.Configuration(metadata, 'my backend', undefined, auth)
      oidc.allowInsecureRequests(stranger)
      await expect(oidc.tokenIntrospection(stranger, access_token)).rejects.toMatchObject({ status: 401 })
    }
    const twice = { token: access_token, client_secret: secret }
    expectError(await service.call('POST', '/auth/introspect', { token: secret, body: twice }), 'validation_failed')
    expectError(await service.call('POST', '/auth/introspect', { body: '{"client_secret":' }), 'token_missing')
  })

  test('a caller without valid credentials is refused as on every route', async () => {
    const { access_token } = await someTokens()
    await service.deps.db('rate_limits').delete()
    expectError(await introspect(access_token, { token: undefined }), 'token_missing')
    expectError(await introspect(access_token, { token: access_token }), 'token_invalid')
    const admin = (await service.login(ADMIN_EMAIL, 'authctl')).body.access_token
    expectError(await introspect(access_token, { token: admin }), 'token_invalid')
    const now = Math.floor(service.deps.clock() / 1000)
    const old = assertionOf(app, { claims: { iat: now - 60, exp: now - 1 } })
    expectError(await introspect(access_token, { token: old }), 'token_expired')
    const closed = await buildApp(service)
    await service.admin('PATCH', `/admin/apps/${closed.code}`, { body: { status: 'inactive' } })
    expectError(await introspect(access_token, { token: assertion(closed) }), 'app_inactive')
  })

  test('a known caller is not counted by address and may ask without limit', async () => {
    const { access_token } = await someTokens()
    const account = await serviceAccount({ scopes: ['tokens:introspect'], app_codes: [app.code] })
    for (let count = 0; count < 10; count += 1) {
      expect((await introspect(access_token)).status).toBe(200)
      expect((await introspect(access_token, { token: account })).status).toBe(200)
    }
  })
})

describe('a malformed introspection request', () => {
  test('a request without a token or with several is 400', async () => {
    for (const body of [{}, { token: 5 }, { token: null }, { token: ['x'] }])
      expect(faultsOf(await introspect(undefined, { body }))[0]).toMatch(/^token: /)
    for (const fields of [
      {},
      { tokens: 'x' },
      [
        ['token', 'a'],
        ['token', 'b'],
      ],
    ])
      expectError(await introspect(undefined, form(fields as [string, string][])), 'validation_failed')
    const nul = { ...form({}), body: 'token=a%00b' }
    expectError(await introspect(undefined, nul), 'invalid_json')
  })

  test('a request that is neither a form nor JSON is 415', async () => {
    for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded; charset=utf-16'])
      expectError(
        await introspect(undefined, { body: 'token=x', headers: { 'content-type': type } }),
        'unsupported_media_type',
        type,
      )
    expectError(
      await introspect(undefined, { body: '{"token":', headers: { 'content-type': 'application/json' } }),
      'invalid_json',
    )
    expectError(await introspect(undefined, { ...form({}), body: `token=${'x'.repeat(65_536)}` }), 'payload_too_large')
    // No other route takes forms.
    const reply = await service.call('POST', '/auth/refresh', form({ refresh_token: 'x' }))
    expectError(reply, 'unsupported_media_type')
  })
})
