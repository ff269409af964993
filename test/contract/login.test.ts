import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  addMember,
  assignRole,
  buildInvitation,
  buildOrganization,
  buildRole,
  closeAccount,
  registerPermissions,
} from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents, countWrites, isInvitationSpent } from '../support/rows.ts'
import {
  buildApp,
  buildService,
  buildUser,
  type CallOptions,
  claimsOf,
  type Json,
  PASSWORD,
  someEmail,
  type TestService,
} from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture()

const wrong = { password: 'not this password' }

// covers service-login-names-app service-token-pair login-tokens user-names
test('a login answers with tokens, the user, the app and no organization', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app, { first_name: 'Ada', last_name: 'Lovelace' })
  const { status, body, headers } = await service.login(` ${user.email.toUpperCase()} `, app.code)
  expect(status).toBe(200)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(body).toEqual({
    token_type: 'Bearer',
    access_token: expect.any(String),
    expires_in: 900,
    refresh_token: expect.any(String),
    refresh_expires_in: 2_592_000,
    device_token: expect.any(String),
    user,
    app: { id: app.id, code: app.code },
    organization: null,
  })
})

// covers login-order login-account-limit login-app-first login-account-state
test('a login with every fault at once reports them one by one, in the order of the steps, until all are fixed', async () => {
  const limits = { AUTH_RATE_LIMIT_ACCOUNT: '3/60', AUTH_LOCKOUT_THRESHOLD: '3', AUTH_LOCKOUT_SECONDS: '120' }
  const on = freezeClock(await buildService(limits))
  const { user, access_token } = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
  const phone = await enableTwoFactor(on, access_token)
  const nextCode = () => {
    on.advance(30)
    return { two_factor_code: phone.code() }
  }
  await closeAccount(on, user.id, 'suspended')
  const app = await buildApp(on)
  const change = (body: Json) => on.admin('PATCH', `/admin/apps/${app.id}`, { body })
  const answer = async (code: string, extra: Json = {}) => {
    const { status, body } = await on.login(user.email, code, extra)
    return body.code ?? (body.requires_2fa ? 'requires_2fa' : status)
  }
  for (let i = 0; i < 3; i += 1) expect(await answer(app.code, wrong)).toBe('invalid_credentials')
  await change({ status: 'inactive', registration_namespace: 'elsewhere' })

  expect(await answer('no-such-app', wrong)).toBe('rate_limited')
  on.advance(60)
  expect(await answer('no-such-app', wrong)).toBe('app_not_found')
  expect(await answer(app.code, wrong)).toBe('app_inactive')
  await change({ status: 'active' })
  expect(await answer(app.code)).toBe('invalid_credentials')
  await change({ registration_namespace: 'default' })
  expect(await answer(app.code, wrong)).toBe('account_locked')
  on.advance(60)
  expect(await answer(app.code, wrong)).toBe('invalid_credentials')
  const elsewhere = { organization_id: (await buildOrganization(on)).id }
  expect(await answer(app.code, elsewhere)).toBe('requires_2fa')
  expect(await answer(app.code, { ...elsewhere, two_factor_code: phone.wrongCode() })).toBe('invalid_two_factor_code')
  expect(await answer(app.code, { ...elsewhere, ...nextCode() })).toBe('account_suspended')
  await on.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'active' } })
  expect(await answer(app.code, { ...elsewhere, ...nextCode() })).toBe('organization_membership_required')
  expect(await answer(app.code, nextCode())).toBe('app_access_denied')
  await on.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
  const before = await auditEvents(on, { event: 'login.success', user_id: user.id })
  expect(await answer(app.code, nextCode())).toBe(200)
  expect(await auditEvents(on, { event: 'login.success', user_id: user.id })).toHaveLength(before.length + 1)
})

// covers service-same-contract version-clients
test('a browser, a phone and a server get the same answers at each step, without any cookie', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const clients: Record<string, Record<string, string>> = {
    browser: {
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      accept: 'application/json',
      origin: 'https://shop.example.com',
      referer: 'https://shop.example.com/login',
      cookie: 'theme=dark',
      'sec-fetch-mode': 'cors',
      'sec-fetch-site': 'cross-site',
    },
    phone: { 'user-agent': 'Shop/7.1 (iPhone; iOS 26.0) CFNetwork/3826', accept: '*/*' },
    server: {},
  }
  const told: Record<string, string[]> = {}
  for (const [client, headers] of Object.entries(clients)) {
    const lines: string[] = []
    const ask = async (method: string, path: string, options: CallOptions): Promise<Json> => {
      const reply = await service.call(method, path, { ...options, headers })
      expect(reply.headers.get('set-cookie')).toBeNull()
      const masked = JSON.stringify(reply.body, (_, value) => (typeof value === 'string' ? 'a text' : value))
      lines.push(`${method} ${path} ${reply.status} ${reply.headers.get('content-type')} ${masked}`)
      return reply.body
    }
    const body = { email: someEmail(), password: PASSWORD, app_code: app.code }
    await ask('POST', '/auth/register', { body })
    await ask('POST', '/auth/register', { body })
    await ask('POST', '/auth/login', { body: { ...body, ...wrong } })
    const { refresh_token } = await ask('POST', '/auth/login', { body })
    const { access_token: token } = await ask('POST', '/auth/refresh', { body: { refresh_token } })
    await ask('GET', '/auth/me', { token })
    await ask('GET', '/admin/apps', { token })
    await ask('POST', '/auth/logout-all', { token })
    await ask('GET', '/auth/me', { token })
    told[client] = lines
  }
  expect(told.server!.map((line) => line.split(' ')[2])).toEqual(['201', '409', '401', '200', '200', '200', '403', '204', '401'])
  expect(told.browser).toEqual(told.server)
  expect(told.phone).toEqual(told.server)
})

describe('the app of a login', () => {
  // covers login-app-first error-app-inactive error-app-unknown
  test('a login checks the app before the account: anybody gets 404 for an unknown app and 403 for an inactive one', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const suspended = (await buildUser(service, app)).user
    await closeAccount(service, suspended.id, 'suspended')
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    for (const email of [user.email, suspended.email, someEmail()]) {
      for (const extra of [{}, wrong]) {
        expect((await service.login(email, 'no-such-app', extra)).body).toMatchObject({ status: 404, code: 'app_not_found' })
        expect((await service.login(email, app.code, extra)).body).toMatchObject({ status: 403, code: 'app_inactive' })
      }
    }
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'active' } })
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })

  test.for(['', '   ', null, undefined])('a login with the app code %j is answered 400', async (app_code) => {
    expect((await service.login(someEmail(), '', { app_code })).body).toMatchObject({ status: 400, code: 'app_code_required' })
  })

  test('a login finds an app only by its exact code', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    for (const code of [app.id, app.code.toUpperCase(), `${app.code}%`, '_', "' or 1=1 --"]) {
      expect((await service.login(user.email, code)).body).toMatchObject({ status: 404, code: 'app_not_found' })
    }
  })
})

test('undeclared members in the body of a login choose no other app and spend no invitation', async () => {
  const pool = `pool-${randomUUID()}`
  const elsewhere = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: pool })
  const { user } = await buildUser(service, elsewhere)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const row = await service.deps.db('apps').where({ id: elsewhere.id }).first()
  const smuggled = { ...row, registration_namespace: pool, read_namespaces: [], status: 'active', built_in: false }
  for (const extra of [{ app: smuggled }, { app: { ...smuggled, id: randomUUID(), code: app.code } }, { knownApp: smuggled }]) {
    for (const path of ['/auth/login', '/auth/access-requests']) {
      const body = { email: user.email, password: PASSWORD, app_code: app.code, ...extra }
      expect((await service.call('POST', path, { body })).body.code, path).toBe('invalid_credentials')
    }
    const nowhere = await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD, ...extra } })
    expect(nowhere.body.code).toBe('app_code_required')
  }
  const { user: guest } = await buildUser(service, app)
  const { id } = await buildOrganization(service)
  const invitation = await buildInvitation(service, { organizationId: id })
  expect((await service.login(guest.email, app.code, { invitation, accepted: { joined: true } })).status).toBe(200)
  expect(await isInvitationSpent(service, invitation)).toBe(false)
})

// covers state-deleted login-one-answer error-credentials login-account-state
test('a login gives one answer for an unknown or deleted user, a wrong or missing password, and a foreign pool', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const elsewhere = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: `pool-${randomUUID()}` })
  const { user } = await buildUser(service, app)
  const outside = (await buildUser(service, elsewhere)).user
  const deleted = (await buildUser(service, app)).user
  await closeAccount(service, deleted.id, 'deleted')
  const bare = (await buildUser(service, app)).user
  await service.deps.db('users').where({ id: bare.id }).update({ password_hash: null })
  const suspended = (await buildUser(service, app)).user
  await closeAccount(service, suspended.id, 'suspended')

  const before = await countWrites(service)
  const replies = [
    await service.login(user.email, app.code, wrong),
    await service.login(user.email, app.code, { password: PASSWORD.toUpperCase() }),
    await service.login(someEmail(), app.code),
    await service.login(outside.email, app.code),
    await service.login(deleted.email, app.code),
    await service.login(bare.email, app.code),
    await service.login(suspended.email, app.code, wrong),
    await service.login(user.email, elsewhere.code),
  ]
  for (const { status, body, headers } of replies) {
    expect(status).toBe(401)
    const { request_id, ...rest } = body
    expect(rest).toEqual({ status: 401, code: 'invalid_credentials', title: expect.any(String), detail: null })
    expect(request_id).toBe(headers.get('x-request-id'))
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('www-authenticate')).toBeNull()
  }
  expect(new Set(replies.map(({ body: { request_id, ...rest } }) => JSON.stringify(rest))).size).toBe(1)
  expect(new Set(replies.map(({ headers }) => [...headers.keys()].sort().join())).size).toBe(1)
  expect(await countWrites(service)).toEqual(before)
})

// covers state-suspended login-account-state
test('a login reports a suspended account, missing access or a missing membership only after the right password', async () => {
  const app = await buildApp(service)
  const organization = await buildOrganization(service)
  const { user } = await buildUser(service, app)
  expect((await service.login(user.email, app.code, wrong)).body.code).toBe('invalid_credentials')
  expect((await service.login(user.email, app.code)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
  const inOrganization = { organization_id: organization.id }
  expect((await service.login(user.email, app.code, { ...inOrganization, ...wrong })).body.code).toBe('invalid_credentials')
  expect((await service.login(user.email, app.code, inOrganization)).body.code).toBe('organization_membership_required')
  await closeAccount(service, user.id, 'suspended')
  expect((await service.login(user.email, app.code, wrong)).body.code).toBe('invalid_credentials')
  expect((await service.login(user.email, app.code)).body).toMatchObject({ status: 403, code: 'account_suspended' })
})

describe('the organization_id of a login', () => {
  // covers claim-roles login-organization login-global-roles login-permissions permissions-tokens membership-role
  test("a login with a member's organization puts that organization and only its roles into the token", async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true, permission_scope: 'roles', service_codes: ['shop'] })
    await registerPermissions(service, 'shop', ['orders:read', 'orders:write'])
    const [clerk, buyer] = [
      await buildRole(service, 'org', ['orders:write']),
      await buildRole(service, 'global', ['orders:read']),
    ]
    const { user } = await buildUser(service, app)
    await assignRole(service, user.id, buyer)
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, [clerk, 'org_member'])
    const roles = ['org_member', clerk].sort()

    const inside = await service.login(user.email, app.code, { organization_id: organization.id })
    expect(inside.body.organization).toEqual({ ...organization, role_codes: roles })
    expect(claimsOf(inside.body.access_token)).toMatchObject({ org_id: organization.id, org_slug: organization.slug })
    expect(claimsOf(inside.body.access_token).roles.sort()).toEqual(roles)
    expect(claimsOf(inside.body.access_token).permissions).toEqual(['orders:write', 'users:read_self', 'users:update_self'])

    const outside = await service.login(user.email, app.code)
    expect(outside.body.organization).toBeNull()
    const claims = claimsOf(outside.body.access_token)
    expect(claims.roles.sort()).toEqual(['base_user', buyer].sort())
    expect(claims.permissions).toEqual(['orders:read', 'users:read_self', 'users:update_self'])
    expect(claims).not.toHaveProperty('org_id')
    expect(claims).not.toHaveProperty('org_slug')
  })

  test('a login with the organization of a member without roles gives no role at all', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_member'])
    // No route leaves a member without a role.
    const { db } = service.deps
    const memberships = db('organization_memberships').where({ user_id: user.id }).select('id')
    await db('membership_roles').whereIn('membership_id', memberships).delete()
    const { body } = await service.login(user.email, app.code, { organization_id: organization.id })
    expect(body.organization.role_codes).toEqual([])
    expect(claimsOf(body.access_token).roles).toEqual([])
  })

  // covers login-organization
  test('a login answers 403 to an unknown or foreign organization, 400 to a malformed one, and takes null and blank as none', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const other = await buildOrganization(service)
    for (const organization_id of [other.id, randomUUID()]) {
      const { body } = await service.login(user.email, app.code, { organization_id })
      expect(body).toMatchObject({ status: 403, code: 'organization_membership_required' })
    }
    for (const organization_id of ['x', other.slug, 5, [other.id]]) {
      const { body } = await service.login(user.email, app.code, { organization_id })
      expect(body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ path: 'organization_id' }] })
    }
    for (const organization_id of [null, '', '  '])
      expect((await service.login(user.email, app.code, { organization_id })).body.organization).toBeNull()
  })
})

describe('access to the app', () => {
  // covers login-grant
  test('a login without a grant is refused until an admin grants access', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    expect((await service.login(user.email, app.code)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })

  test('a system_admin needs no grant for authctl, and one for every other app', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    for (const code of [app.code, 'authctl']) expect((await service.login(user.email, code)).body.code).toBe('app_access_denied')
    await assignRole(service, user.id, 'system_admin')
    expect((await service.login(user.email, app.code)).body.code).toBe('app_access_denied')
    const { status, body } = await service.login(user.email, 'authctl')
    expect(status).toBe(200)
    expect(claimsOf(body.access_token).roles.sort()).toEqual(['base_user', 'system_admin'])
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body.apps).toEqual([])
  })

  test('a super_admin needs a grant for every app, including authctl', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    await assignRole(service, user.id, 'super_admin')
    for (const code of [app.code, 'authctl']) expect((await service.login(user.email, code)).body.code).toBe('app_access_denied')
  })
})

describe('a login without an app', () => {
  const applessLogin = (on: TestService, email: string, extra: object = {}) =>
    on.call('POST', '/auth/login', { body: { email, password: PASSWORD, ...extra } })

  // covers login-no-app error-app-code-required
  test('a login without an app is answered 400 with AUTH_REQUIRE_APP_CODE, even with AUTH_ALLOW_BASE_USER_LOGIN', async () => {
    const both: Record<string, string> = { AUTH_REQUIRE_APP_CODE: 'true', AUTH_ALLOW_BASE_USER_LOGIN: 'true' }
    for (const settings of [{}, both]) {
      const on = await buildService(settings)
      const { user } = await buildUser(on, await buildApp(on))
      expect((await applessLogin(on, user.email)).body).toMatchObject({ status: 400, code: 'app_code_required' })
      expect((await applessLogin(on, someEmail())).body).toMatchObject({ status: 400, code: 'app_code_required' })
    }
  })

  // covers login-base-user
  test('a login without an app, with AUTH_ALLOW_BASE_USER_LOGIN, gives only base_user and the core permissions', async () => {
    const on = await buildService({ AUTH_ALLOW_BASE_USER_LOGIN: 'true' })
    await registerPermissions(on, 'shop', ['orders:read'])
    const app = await buildApp(on, { auto_grant_on_signup: true })
    const { user } = await buildUser(on, app)
    await assignRole(on, user.id, await buildRole(on, 'global', ['orders:read']))
    await assignRole(on, user.id, 'super_admin')
    for (const app_code of [undefined, null, '', ' ']) {
      const { status, body } = await applessLogin(on, user.email, { app_code })
      expect([status, body.app, body.organization]).toEqual([200, null, null])
      const claims = claimsOf(body.access_token)
      expect(claims).toMatchObject({ uid: user.id, aud: 'gatehouse', roles: ['base_user'] })
      expect(claims.permissions).toEqual(['users:read_self', 'users:update_self'])
      expect(claims).not.toHaveProperty('app_id')
      expect(claims).not.toHaveProperty('app_code')
      const me = await on.call('GET', '/auth/me', { token: body.access_token })
      expect(me.body).toMatchObject({ app: null, roles: ['base_user'], permissions: claims.permissions })
      const again = await on.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
      expect(again.body.app).toBeNull()
      expect(claimsOf(again.body.access_token)).toMatchObject({ roles: ['base_user'], permissions: claims.permissions })
    }
    expect(claimsOf((await on.login(user.email, app.code)).body.access_token).roles).toContain('super_admin')
  })

  // covers login-no-app
  test('a login without an app, with AUTH_REQUIRE_APP_CODE=false, gives the global roles and no claims about an app', async () => {
    const on = await buildService({ AUTH_REQUIRE_APP_CODE: 'false', JWT_ISSUER: 'https://id.example.com' })
    await registerPermissions(on, 'shop', ['orders:read', 'orders:write'])
    const role = await buildRole(on, 'global', ['orders:read'])
    const { user } = await buildUser(on, await buildApp(on))
    await assignRole(on, user.id, role)
    const { status, body } = await applessLogin(on, user.email)
    expect(status).toBe(200)
    const claims = claimsOf(body.access_token)
    expect(claims).toMatchObject({ iss: 'https://id.example.com', aud: 'https://id.example.com' })
    expect(claims.roles.sort()).toEqual(['base_user', role].sort())
    expect(claims.permissions).toEqual(['orders:read', 'users:read_self', 'users:update_self'])
    expect((await on.call('GET', '/auth/me', { token: body.access_token })).body.app).toBeNull()
  })

  test('a login without an app finds only users of the pool default, also by tag', async () => {
    const on = await buildService({ AUTH_REQUIRE_APP_CODE: 'false' })
    const there = await buildUser(on, await buildApp(on, { registration_namespace: 'there' }))
    const tagged = await buildUser(on, await buildApp(on, { registration_namespace: 'there', read_namespaces: ['default'] }))
    expect((await applessLogin(on, there.user.email)).body.code).toBe('invalid_credentials')
    expect((await applessLogin(on, tagged.user.email)).status).toBe(200)
  })
})

// covers login-required
test.for([
  ['email', undefined, 'required'],
  ['email', 'no address', 'invalid_value'],
  ['password', undefined, 'required'],
  ['password', '', 'too_short'],
  ['password', ['x'], 'invalid_type'],
  ['password', 'x'.repeat(1_025), 'too_long'],
  ['app_code', 1, 'invalid_type'],
  ['organization_id', 1, 'invalid_type'],
  ['role_code', 1, 'invalid_type'],
  ['linked_app_codes', [1], 'invalid_type'],
  ['linked_app_codes', Array(51).fill('x'), 'too_long'],
  ['two_factor_code', 123456, 'invalid_type'],
] as [string, unknown, string][])('a login with %s: %j is refused as %s', async ([path, value, code]) => {
  const app = await buildApp(service)
  const { body } = await service.login(someEmail(), app.code, { [path]: value })
  expect(body).toMatchObject({ status: 400, code: 'validation_failed', errors: [{ code }] })
  expect(body.errors[0].path.split('.')[0]).toBe(path)
})

test('a login returns the same members of the user as a registration, without hash and counters', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const { body }: { body: Json } = await service.login(user.email, app.code)
  expect(Object.keys(body.user).sort()).toEqual(
    ['created_at', 'email', 'email_verified', 'first_name', 'id', 'last_name', 'namespace', 'namespaces', 'status'].sort(),
  )
})
