import { createHmac } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { kidOf } from '../support/consumer.ts'
import { addMember, assignRole, buildOrganization, buildRole, registerPermissions } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { ACCESS_SECRET, buildApp, buildService, buildUser, claimsOf, type Json } from '../support/service.ts'

const service = serviceFixture()
beforeAll(async () => {
  await registerPermissions(service, 'shop', ['orders:read', 'orders:write', 'orders:cancel'])
  await registerPermissions(service, 'stock', ['items:read', 'items:count'])
  await registerPermissions(service, 'other', ['secrets:read'])
})

const core = ['users:read_self', 'users:update_self']
const loginClaims = async (user: Json, app: Json, extra: Record<string, unknown> = {}): Promise<Json> =>
  claimsOf((await service.login(user.email, app.code, extra)).body.access_token)

// covers service-token-of-app claim-app claim-user claim-namespace claim-standard claim-ids user-names
test('a token has exactly these claims, with the two lists at the end', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true, service_codes: ['stock', 'shop'] })
  const { user, access_token } = await buildUser(service, app, { first_name: 'Ada', last_name: 'Lovelace' })
  const claims = claimsOf(access_token)
  const now = Math.floor(service.deps.clock() / 1000)
  for (const id of [claims.app_id, claims.uid])
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(claims).toEqual({
    app_id: app.id,
    app_code: app.code,
    uid: user.id,
    sub: user.id,
    email: user.email,
    email_verified: false,
    first_name: 'Ada',
    last_name: 'Lovelace',
    tv: 0,
    sid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    auth_time: claims.iat,
    amr: ['pwd'],
    iss: 'gatehouse',
    aud: app.code,
    exp: claims.iat + 900,
    nbf: claims.iat,
    iat: claims.iat,
    jti: expect.any(String),
    roles: ['base_user'],
    permissions: ['items:count', 'items:read', 'orders:cancel', 'orders:read', 'orders:write', ...core],
  })
  expect(claims.iat).toBeGreaterThan(now - 30)
  expect(claims.iat).toBeLessThanOrEqual(now)
  expect(Object.keys(claims).slice(-2)).toEqual(['roles', 'permissions'])
})

// covers auth-signature
test('a token is signed with HS256 under the shared secret, which its kid names', async () => {
  const { access_token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
  const [header, payload, signature] = access_token.split('.')
  const kid = kidOf(ACCESS_SECRET)
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'HS256', typ: 'JWT', kid })
  expect(signature).toBe(createHmac('sha256', ACCESS_SECRET).update(`${header}.${payload}`).digest('base64url'))
})

// covers claim-organization
test('the id and slug of the organization come before the lists', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const organization = await buildOrganization(service)
  await addMember(service, organization.id, user.id, ['org_admin'])
  const claims = await loginClaims(user, app, { organization_id: organization.id })
  expect(claims).toMatchObject({ org_id: organization.id, org_slug: organization.slug, roles: ['org_admin'] })
  expect(Object.keys(claims).slice(-2)).toEqual(['roles', 'permissions'])
})

// covers claim-version
test('jti and sid differ between logins, and tv does not', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const all = await Promise.all(Array.from({ length: 5 }, () => loginClaims(user, app)))
  for (const member of ['jti', 'sid']) expect(new Set(all.map((claims) => claims[member])).size).toBe(5)
  expect(all.map((claims) => claims.tv)).toEqual([0, 0, 0, 0, 0])
})

describe('permissions', () => {
  // covers app-services-unregistered permission-core claim-permissions-unregistered permission-core-codes
  test('a token of an app whose services have no permissions has only the core permissions', async () => {
    const { access_token } = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
    expect(claimsOf(access_token).permissions).toEqual(core)
  })

  // covers claim-permissions
  test('a token has the permissions of services, core and roles, sorted and without duplicates', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true, service_codes: ['stock', 'core', 'no-such-service'] })
    const { user } = await buildUser(service, app)
    await assignRole(service, user.id, await buildRole(service, 'global', ['items:read', 'orders:write', 'users:read_self']))
    await assignRole(service, user.id, await buildRole(service, 'global', ['orders:write', 'secrets:read']))
    expect((await loginClaims(user, app)).permissions).toEqual([
      'items:count',
      'items:read',
      'orders:write',
      'secrets:read',
      ...core,
    ])
  })

  // covers permissions-tokens
  test('permission_scope roles gives the permissions of the roles for the services of the app, and core', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true, service_codes: ['shop'], permission_scope: 'roles' })
    const { user } = await buildUser(service, app)
    expect((await loginClaims(user, app)).permissions).toEqual(core)
    await assignRole(service, user.id, await buildRole(service, 'global', ['orders:write', 'secrets:read']))
    expect((await loginClaims(user, app)).permissions).toEqual(['orders:write', ...core])
  })

  test('a super_admin has all permissions, with permission_scope roles all of the services of the app', async () => {
    const wide = await buildApp(service, { auto_grant_on_signup: true })
    const narrow = await buildApp(service, { auto_grant_on_signup: true, service_codes: ['stock'], permission_scope: 'roles' })
    const { user } = await buildUser(service, wide)
    await assignRole(service, user.id, 'super_admin')
    const all: string[] = await service.deps.db('permissions').whereNull('pruned_at').pluck('code')
    expect((await loginClaims(user, wide)).permissions).toEqual([...new Set(all)].sort())
    expect((await loginClaims(user, narrow)).permissions).toEqual(['items:count', 'items:read', ...core])
  })

  test('a pruned permission is in no token, neither by service, by role nor for a super_admin', async () => {
    await registerPermissions(service, 'pruning', ['gone:a', 'kept:b'])
    const app = await buildApp(service, { auto_grant_on_signup: true, service_codes: ['pruning'] })
    const { user } = await buildUser(service, app)
    await assignRole(service, user.id, await buildRole(service, 'global', ['gone:a']))
    await registerPermissions(service, 'pruning', ['kept:b'])
    expect((await loginClaims(user, app)).permissions).toEqual(['kept:b', ...core])
    await assignRole(service, user.id, 'super_admin')
    expect((await loginClaims(user, app)).permissions).not.toContain('gone:a')
  })

  // covers login-global-roles
  test('the permissions of an organization role are only in tokens for that organization', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const [here, there] = [await buildOrganization(service), await buildOrganization(service)]
    await addMember(service, here.id, user.id, [await buildRole(service, 'org', ['orders:read'])])
    await addMember(service, there.id, user.id, [await buildRole(service, 'org', ['items:read'])])
    expect((await loginClaims(user, app)).permissions).toEqual(core)
    expect((await loginClaims(user, app, { organization_id: here.id })).permissions).toEqual(['orders:read', ...core])
    expect((await loginClaims(user, app, { organization_id: there.id })).permissions).toEqual(['items:read', ...core])
  })
})

describe('exp', () => {
  test('exp is limited to the end of the grant, and expires_in says so', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const expires = Math.floor(service.deps.clock() / 1000) + 120
    const body = { expires_at: new Date(expires * 1000 + 500).toISOString() }
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { body })
    const login = await service.login(user.email, app.code)
    const claims = claimsOf(login.body.access_token)
    expect(claims.exp).toBe(expires)
    expect(login.body.expires_in).toBe(claims.exp - claims.iat)
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: login.body.refresh_token } })
    expect(claimsOf(refreshed.body.access_token).exp).toBe(expires)
  })

  // covers claim-standard
  test('exp follows JWT_ACCESS_TTL_SECONDS and never outlives the session', async () => {
    const on = await buildService({ JWT_ACCESS_TTL_SECONDS: '60', JWT_SESSION_MAX_SECONDS: '90' })
    const login = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
    expect(login).toMatchObject({ expires_in: 60, refresh_expires_in: 90 })
    on.advance(50)
    const { body } = await on.call('POST', '/auth/refresh', { body: { refresh_token: login.refresh_token } })
    expect(body.expires_in).toBeLessThanOrEqual(40)
    expect(body.refresh_expires_in).toBeLessThanOrEqual(40)
    expect(claimsOf(body.access_token).exp).toBeLessThanOrEqual(claimsOf(login.access_token).iat + 91)
  })
})
