import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { addMember, buildOrganization, buildRole, closeAccount } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows, countWrites } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, someEmail, somePool } from '../support/service.ts'

const service = serviceFixture()

const tokenMembers = ['token_type', 'access_token', 'expires_in', 'refresh_token', 'refresh_expires_in', 'device_token']

/** Asserts a refusal, and that it left nothing behind. */
async function expectRefusal(
  send: () => Promise<{ status: number; body: Json }>,
  expected: { status: number; code: string },
): Promise<void> {
  const before = await countWrites(service)
  const { body } = await send()
  expect(body).toMatchObject(expected)
  expect(await countWrites(service)).toEqual(before)
}

describe('the answer to a registration', () => {
  // covers user-names register-no-grant
  test('the answer shows the new user, and no token members while access is pending', async () => {
    const app = await buildApp(service)
    const email = someEmail()
    const { status, body, headers } = await service.register(email, app.code, { first_name: ' Ada ', last_name: '' })
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toEqual({
      created: true,
      user: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        email,
        email_verified: false,
        first_name: 'Ada',
        last_name: null,
        namespace: 'default',
        namespaces: ['default'],
        status: 'active',
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
      app: { id: app.id, code: app.code },
      access: 'pending',
      organization: null,
    })
  })

  // covers service-login-names-app service-token-pair
  test('the answer has working tokens without an organization if access is granted', async () => {
    const organization = await buildOrganization(service)
    const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const { status, body } = await service.register(someEmail(), app.code)
    expect(status).toBe(201)
    expect(Object.keys(body).sort()).toEqual(['access', 'app', 'created', 'organization', 'user', ...tokenMembers].sort())
    expect(body).toMatchObject({
      created: true,
      access: 'granted',
      token_type: 'Bearer',
      expires_in: 900,
      refresh_expires_in: 2_592_000,
    })
    expect(body.organization).toEqual({ ...organization, role_codes: ['org_member'] })
    expect(claimsOf(body.access_token)).toMatchObject({ uid: body.user.id, app_code: app.code, roles: ['base_user'] })
    expect(claimsOf(body.access_token)).not.toHaveProperty('org_id')
    expect((await service.call('GET', '/auth/me', { token: body.access_token })).status).toBe(200)
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })).status).toBe(200)
  })

  // covers register-base-user register-no-organization register-no-grant
  test('a new user has the role base_user and nothing else', async () => {
    const { user } = await buildUser(service, await buildApp(service))
    const { body } = await service.admin('GET', `/admin/users/${user.id}`)
    expect(body).toMatchObject({ roles: ['base_user'], apps: [], organizations: [] })
  })
})

describe('the e-mail of a registration', () => {
  const id = randomUUID().slice(0, 8)
  // covers user-email-normalized register-email
  test.for([
    ['upper case and surrounding spaces', `\t MiXed-${id}@Example.COM \n`, `mixed-${id}@example.com`],
    ['full-width characters', `ｆｕｌｌ-${id}＠ｅｘａｍｐｌｅ．ｃｏｍ`, `full-${id}@example.com`],
    ['an international domain', `jörg-${id}@BÜCHER.example`, `jörg-${id}@xn--bcher-kva.example`],
    ['a composed and a decomposed letter', `e\u0301-${id}@example.com`, `é-${id}@example.com`],
    ['ligatures', `o\ufb03ce-${id}@example.com`, `office-${id}@example.com`],
  ])('an address with %s is normalized, and every spelling is the same user', async ([, spelling, stored]) => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const first = await service.register(spelling!, app.code)
    expect(first.body.user.email).toBe(stored)
    expect((await service.register(stored!, app.code)).body).toMatchObject({ status: 409, code: 'user_exists' })
    expect((await service.register(spelling!, app.code)).body.code).toBe('user_exists')
    for (const email of [spelling!, stored!]) expect((await service.login(email, app.code)).body.user.id).toBe(first.body.user.id)
  })

  test('plus tags and dots are kept', async () => {
    const app = await buildApp(service)
    const local = randomUUID()
    for (const email of [`${local}@example.com`, `${local}+tag@example.com`, `${local}.x@example.com`]) {
      expect((await service.register(email, app.code)).body.user.email).toBe(email)
    }
  })

  // covers register-email
  test.for([
    ['nothing', ''],
    ['no @', 'user.example.com'],
    ['no local part', '@example.com'],
    ['no domain', 'user@'],
    ['two @', 'a@b@example.com'],
    ['a space inside', 'a b@example.com'],
    ['a zero-width space', 'a\u200b@example.com'],
    ['a soft hyphen in the domain', 'a@exam\u00adple.com'],
    ['a line feed inside', 'a@example.com\nbcc:b@example.com'],
    ['a right-to-left mark', 'a\u202e@example.com'],
    ['a path', 'a@example.com/x'],
    ['a port', 'a@example.com:25'],
    ['a query', 'a@example.com?x'],
    ['percent signs in the domain', 'a@exam%70le.com'],
    ['an empty label', 'a@example..com'],
    ['a display name', 'Ada <a@example.com>'],
    ['255 bytes', `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example.com`],
    ['a megabyte of letters', `${'a'.repeat(50_000)}@example.com`],
  ])('an address with %s is refused', async ([, email]) => {
    const app = await buildApp(service)
    const reply = await service.register(email!, app.code)
    expect(reply.body).toMatchObject({
      status: 400,
      code: 'validation_failed',
      errors: [{ path: 'email', code: 'invalid_value' }],
    })
  })

  // covers register-fields register-email register-modes
  test.for([
    ['email', undefined, 'required'],
    ['email', 7, 'invalid_type'],
    ['email', null, 'invalid_type'],
    ['password', undefined, 'required'],
    ['password', '', 'too_short'],
    ['password', 12345678, 'invalid_type'],
    ['first_name', {}, 'invalid_type'],
    ['first_name', 'x'.repeat(201), 'too_long'],
    ['last_name', 7, 'invalid_type'],
    ['app_code', 5, 'invalid_type'],
    ['mode', 'upsert', 'invalid_value'],
    ['linked_app_codes', 'app', 'invalid_type'],
    ['linked_app_codes', Array(51).fill('app'), 'too_long'],
    ['role_code', ['org_admin'], 'invalid_type'],
    ['invite_code', 1, 'invalid_type'],
    ['invite_token', {}, 'invalid_type'],
    ['organization_name', true, 'invalid_type'],
  ] as [string, unknown, string][])(
    '%s with the value %j is refused as %s, without coercion of types',
    async ([path, value, code]) => {
      const app = await buildApp(service)
      await expectRefusal(() => service.register(someEmail(), app.code, { [path]: value }), {
        status: 400,
        code: 'validation_failed',
      })
      const { body } = await service.register(someEmail(), app.code, { [path]: value })
      expect(body.errors).toEqual([{ path, code, message: expect.any(String) }])
    },
  )
})

// covers register-fields
test.for([null, '', ' \t'])('an optional field with the value %j counts as absent', async (blank) => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const names = ['first_name', 'last_name', 'mode', 'invite_code', 'invite_token', 'organization_name', 'role_code']
  const fields = [...names, 'linked_app_codes', 'two_factor_code', 'device_token']
  const { status, body } = await service.register(
    someEmail(),
    app.code,
    Object.fromEntries(fields.map((field) => [field, blank])),
  )
  expect(status).toBe(201)
  expect(body).toMatchObject({ access: 'granted', organization: null, user: { first_name: null, last_name: null } })
  expect(await auditEvents(service, { user_id: body.user.id, event: 'override.refused' })).toEqual([])
  // A blank password does not count as left out.
  expect((await service.register(someEmail(), app.code, { password: blank })).body.code).toBe('validation_failed')
})

describe('the password of a registration', () => {
  test.for([
    ['seven characters', '1234567', 'too_short'],
    ['seven emoji, though they are 14 UTF-16 units', '🔑'.repeat(7), 'too_short'],
    ['1,025 bytes', 'x'.repeat(1_025), 'too_long'],
    ['fewer characters but more bytes than 1,024', 'ü'.repeat(513), 'too_long'],
  ])('a password of %s is refused and not echoed', async ([, password, code]) => {
    const app = await buildApp(service)
    const before = await countWrites(service)
    const { body } = await service.register(someEmail(), app.code, { password })
    expect(body).toMatchObject({ status: 400, errors: [{ path: 'password', code }] })
    expect(JSON.stringify(body)).not.toContain(password)
    expect(await countWrites(service)).toEqual(before)
  })

  test('a password that equals the e-mail address in any spelling is refused', async () => {
    const app = await buildApp(service)
    const email = someEmail()
    const { body } = await service.register(email, app.code, { password: ` ${email.toUpperCase()}` })
    expect(body).toMatchObject({ status: 400, errors: [{ path: 'password', code: 'invalid_value' }] })
  })

  test.for([
    ['spaces around it', '  two spaces  '],
    ['another normal form', 'ｆｕｌｌｗｉｄｔｈ'],
    ['exactly 72 bytes', 'x'.repeat(72)],
    ['73 bytes', 'x'.repeat(73)],
    ['1,024 bytes', 'ü'.repeat(512)],
    ['control characters', 'tab\tbell\u0007 '],
  ])('a password with %s is used exactly as sent, and no variant of it signs in', async ([, password]) => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const email = someEmail()
    expect((await service.register(email, app.code, { password })).status).toBe(201)
    expect((await service.login(email, app.code, { password })).status).toBe(200)
    const others = [password!.trim(), password!.normalize('NFKC'), `${password}x`, password!.slice(0, -1)]
    for (const other of others.filter((other) => other !== password)) {
      expect((await service.login(email, app.code, { password: other })).body).toMatchObject({
        code: expect.stringMatching(/invalid_credentials|validation_failed/),
      })
    }
  })
})

describe('the app of a registration', () => {
  test('an unknown app is 404, an inactive one 403, and nothing is written', async () => {
    const app = await buildApp(service)
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    await expectRefusal(() => service.register(someEmail(), 'no-such-app'), { status: 404, code: 'app_not_found' })
    await expectRefusal(() => service.register(someEmail(), app.id), { status: 404, code: 'app_not_found' })
    await expectRefusal(() => service.register(someEmail(), app.code), { status: 403, code: 'app_inactive' })
  })

  test.for([undefined, null, '', '  '])('app_code %j without a default app is 400', async (app_code) => {
    await expectRefusal(() => service.register(someEmail(), '', { app_code }), { status: 400, code: 'app_code_required' })
  })

  // covers register-default-app
  test('AUTH_DEFAULT_APP_CODE applies to registrations without an app, but not to logins', async () => {
    const service = await buildService({ AUTH_DEFAULT_APP_CODE: 'house' })
    expect((await service.register(someEmail(), '')).body).toMatchObject({ status: 404, code: 'app_not_found' })
    await service.admin('POST', '/admin/apps', { body: { code: 'house', name: 'House', auto_grant_on_signup: true } })
    const other = await buildApp(service)
    for (const app_code of [undefined, null, '', ' ']) {
      expect((await service.register(someEmail(), '', { app_code })).body.app.code).toBe('house')
    }
    expect((await service.register(someEmail(), other.code)).body.app.code).toBe(other.code)
    const { user } = await buildUser(service, { code: 'house' })
    expect((await service.login(user.email, '')).body).toMatchObject({ status: 400, code: 'app_code_required' })
    await service.admin('PATCH', '/admin/apps/house', { body: { status: 'inactive' } })
    expect((await service.register(someEmail(), '')).body).toMatchObject({ status: 403, code: 'app_inactive' })
  })
})

// covers register-order register-policy-first register-pool-set
test('the checks of a registration run in order: address, app, policy, pools and collisions', async () => {
  const pool = somePool()
  const { user } = await buildUser(service, await buildApp(service, { registration_namespace: pool }))
  const settings = { status: 'inactive', registration_namespace: pool, allowed_email_domains: ['corp.example'] }
  const app = await buildApp(service, settings)
  const change = (body: Json) => service.admin('PATCH', `/admin/apps/${app.id}`, { body })
  const answer = async (email: string, code: string) => {
    const { status, body } = await service.register(email, code)
    return body.code ?? status
  }
  expect(await answer('no address', 'no-such-app')).toBe('validation_failed')
  expect(await answer(user.email, 'no-such-app')).toBe('app_not_found')
  expect(await answer(user.email, app.code)).toBe('app_inactive')
  await change({ status: 'active' })
  expect(await answer(user.email, app.code)).toBe('email_domain_not_allowed')
  await change({ allowed_email_domains: [], allowed_auth_methods: ['google'] })
  expect(await answer(user.email, app.code)).toBe('auth_method_not_allowed')
  await change({ allowed_auth_methods: [] })
  expect(await answer(user.email, app.code)).toBe('user_exists')
  await change({ registration_namespace: somePool() })
  expect(await answer(user.email, app.code)).toBe(201)
})

describe('the policy of a registration', () => {
  // covers app-email-domains app-auth-methods register-policy-first
  test.for([
    ['sign_up_closed', { sign_up: 'closed' }],
    ['sign_up_closed', { sign_up: 'invitation' }],
    ['email_domain_not_allowed', { allowed_email_domains: ['corp.com', '*.corp.com'] }],
    ['auth_method_not_allowed', { allowed_auth_methods: ['google', 'magic_link'] }],
  ] as [string, object][])('%s is answered before the collision check, with nothing written: %j', async ([code, policy]) => {
    const app = await buildApp(service, policy as Record<string, unknown>)
    const existing = await buildUser(service, await buildApp(service))
    // When sign-up is closed, `register_or_login` is only a login: sign-up-closed.test.ts.
    for (const mode of code === 'sign_up_closed' ? ['register'] : ['register', 'register_or_login']) {
      await expectRefusal(() => service.register(someEmail(), app.code, { mode, organization_name: 'Acme' }), {
        status: 403,
        code,
      })
      await expectRefusal(() => service.register(existing.user.email, app.code, { mode }), { status: 403, code })
    }
    const asAdmin = { body: { email: existing.user.email, password: PASSWORD, app_code: app.code, mode: 'register_or_return' } }
    await expectRefusal(() => service.admin('POST', '/auth/register', asAdmin), { status: 403, code })
  })

  test('an allowed domain matches as a whole in any case, and *. matches only subdomains', async () => {
    const app = await buildApp(service, { allowed_email_domains: ['Corp.COM', '*.sub.org', 'bücher.example'] })
    const allowed = ['corp.com', 'CORP.com', 'a.sub.org', 'a.b.SUB.org', 'bücher.example', 'xn--bcher-kva.example']
    const refused = ['evilcorp.com', 'a.corp.com', 'corp.com.evil.org', 'sub.org', 'evilsub.org', 'corp.co']
    for (const domain of allowed) expect((await service.register(`${randomUUID()}@${domain}`, app.code)).status).toBe(201)
    for (const domain of refused) {
      expect((await service.register(`${randomUUID()}@${domain}`, app.code)).body.code).toBe('email_domain_not_allowed')
    }
  })

  test('an empty list of domains and a list of methods with password restrict nothing', async () => {
    const app = await buildApp(service, { allowed_email_domains: [], allowed_auth_methods: ['google', 'password'] })
    expect((await service.register(someEmail(), app.code)).status).toBe(201)
  })

  test('the built-in app accepts no registrations', async () => {
    await expectRefusal(() => service.register(someEmail(), 'authctl'), { status: 403, code: 'sign_up_closed' })
  })
})

describe('the registration of an existing user', () => {
  // covers register-conflict error-user-exists register-modes
  test('register is 409 with any other fields, and changes nothing', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, await buildApp(service))
    const extras = [
      {},
      { password: 'another good password' },
      { password: 'short' },
      { organization_name: 'Acme' },
      { first_name: 'Eve' },
    ]
    for (const extra of extras) {
      await expectRefusal(() => service.register(user.email, app.code, extra), { status: 409, code: 'user_exists' })
    }
    expect((await service.admin('GET', `/admin/users/${user.id}`)).body).toMatchObject({ first_name: null, apps: [] })
  })

  // covers register-or-login
  test('register_or_login with the right password logs the user in with 200 and creates no second user', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const users = await countRows(service, 'users')
    const { status, body } = await service.register(user.email.toUpperCase(), app.code, {
      mode: 'register_or_login',
      first_name: 'Eve',
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ created: false, access: 'granted', organization: null, app: { id: app.id, code: app.code } })
    expect(Object.keys(body).sort()).toEqual(['access', 'app', 'created', 'organization', 'user', ...tokenMembers].sort())
    expect(body.user).toEqual(user)
    expect(claimsOf(body.access_token).uid).toBe(user.id)
    expect(await countRows(service, 'users')).toBe(users)
  })

  // covers register-modes
  test('register_or_login of a new address registers it with 201', async () => {
    const app = await buildApp(service)
    const { status, body } = await service.register(someEmail(), app.code, { mode: 'register_or_login' })
    expect([status, body.created, body.access]).toEqual([201, true, 'pending'])
  })

  // covers register-or-login
  test('register_or_login refuses whatever a login refuses', async () => {
    const app = await buildApp(service)
    const auto = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const suspended = await buildUser(service, app)
    await closeAccount(service, suspended.user.id, 'suspended')
    const mode = 'register_or_login'
    const wrong = { mode, password: 'not this password' }
    await expectRefusal(() => service.register(user.email, app.code, wrong), { status: 401, code: 'invalid_credentials' })
    await expectRefusal(() => service.register(user.email, auto.code, wrong), { status: 401, code: 'invalid_credentials' })
    await expectRefusal(() => service.register(user.email, app.code, { mode }), { status: 403, code: 'app_access_denied' })
    await expectRefusal(() => service.register(suspended.user.email, app.code, wrong), {
      status: 401,
      code: 'invalid_credentials',
    })
    await expectRefusal(() => service.register(suspended.user.email, auto.code, { mode }), {
      status: 403,
      code: 'account_suspended',
    })
  })

  test('register_or_login neither founds nor selects an organization for an existing user', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_admin'])
    const organizations = await countRows(service, 'organizations')
    const extra = { mode: 'register_or_login', organization_name: 'Acme', organization_id: organization.id }
    const { body } = await service.register(user.email, app.code, extra)
    expect(claimsOf(body.access_token).roles).toEqual(['base_user'])
    expect(await countRows(service, 'organizations')).toBe(organizations)
  })

  test('the address of a deleted user can be registered again', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    await closeAccount(service, user.id, 'deleted')
    for (const mode of ['register', 'register_or_login']) {
      const again = await service.register(user.email, app.code, { mode })
      expect(again.status).toBe(201)
      expect(again.body.user.id).not.toBe(user.id)
      await closeAccount(service, again.body.user.id, 'deleted')
    }
  })
})

describe('registration with register_or_return', () => {
  const returning = (email: string, app: string, extra: object = {}) => ({
    body: { email, password: PASSWORD, app_code: app, mode: 'register_or_return', ...extra },
  })

  // covers register-return-callers
  test('without a bearer it is 401, with an unauthorized one 403, before anything is looked up', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { access_token, user } = await buildUser(service, app)
    for (const [email, code] of [
      [user.email, app.code],
      [someEmail(), app.code],
      [someEmail(), 'no-such-app'],
    ]) {
      const bare = await service.call('POST', '/auth/register', returning(email!, code!))
      expect(bare.body).toMatchObject({ status: 401, code: 'token_missing' })
      expect(bare.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"')
      const forged = await service.call('POST', '/auth/register', { ...returning(email!, code!), token: 'a.b.c' })
      expect(forged.body).toMatchObject({ status: 401, code: 'token_invalid' })
      const other = await service.call('POST', '/auth/register', { ...returning(email!, code!), token: access_token })
      expect(other.body).toMatchObject({ status: 403 })
    }
  })

  test('with the bearer of an ended session it is 401', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { access_token, refresh_token } = await buildUser(service, app)
    await service.call('POST', '/auth/logout', { body: { refresh_token } })
    const reply = await service.call('POST', '/auth/register', { ...returning(someEmail(), app.code), token: access_token })
    expect(reply.body).toMatchObject({ status: 401, code: 'token_revoked' })
  })

  // covers register-or-return
  test('an existing user is returned with 200 and no tokens, whatever the password', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const before = await countWrites(service)
    const { status, body } = await service.admin('POST', '/auth/register', returning(user.email, app.code, { password: 'x' }))
    expect(status).toBe(200)
    expect(body).toEqual({ created: false, user, app: { id: app.id, code: app.code }, access: 'granted', organization: null })
    const other = await buildApp(service, { auto_grant_on_signup: true })
    expect((await service.admin('POST', '/auth/register', returning(user.email, other.code))).body.access).toBe('pending')
    expect(await countWrites(service)).toEqual(before)
  })

  // covers register-modes
  test('a new address is registered with 201 and no tokens, even if access is granted at once', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const before = await countWrites(service)
    const { status, body } = await service.admin('POST', '/auth/register', returning(someEmail(), app.code))
    expect(status).toBe(201)
    expect(Object.keys(body).sort()).toEqual(['access', 'app', 'created', 'organization', 'user'])
    expect(body).toMatchObject({ created: true, access: 'granted' })
    const after = await countWrites(service)
    expect(after.sessions).toBe(before.sessions)
    expect((await service.login(body.user.email, app.code)).status).toBe(200)
  })

  test('the right is read from the current role, not from the one in the token', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    await service.deps.db('user_roles').insert({ user_id: user.id, role_code: 'system_admin', created_at: 0 })
    const token = (await service.login(user.email, app.code)).body.access_token
    expect((await service.call('POST', '/auth/register', { ...returning(user.email, app.code), token })).status).toBe(200)
    await service.deps.db('user_roles').where({ user_id: user.id, role_code: 'system_admin' }).delete()
    expect((await service.call('POST', '/auth/register', { ...returning(user.email, app.code), token })).body).toMatchObject({
      status: 403,
      code: 'service_caller_required',
    })
  })
})

test("other modes ignore the bearer, so an invalid one does no harm and an admin's gives nothing", async () => {
  const app = await buildApp(service)
  for (const token of ['a.b.c', 'x'.repeat(4_000)]) {
    const body = { email: someEmail(), password: PASSWORD, app_code: app.code }
    expect((await service.call('POST', '/auth/register', { body, token })).status).toBe(201)
  }
  const body = { email: someEmail(), password: PASSWORD, app_code: app.code }
  expect((await service.admin('POST', '/auth/register', { body })).body.access).toBe('pending')
})

test('unknown members have no effect, and neither do __proto__ and columns of the server', async () => {
  const app = await buildApp(service)
  const email = someEmail()
  const body = JSON.stringify({
    ...{
      email,
      password: PASSWORD,
      app_code: app.code,
      campaign: { tags: [1, null] },
      roles: ['system_admin'],
      status: 'suspended',
    },
    ...{ id: randomUUID(), namespace: 'elsewhere', email_verified: true, email_verified_at: 1, constructor: { prototype: {} } },
  }).replace('{', '{"__proto__":{"mode":"register_or_return","role_code":"org_admin"},')
  const reply = await service.call('POST', '/auth/register', { body })
  expect(reply.status).toBe(201)
  expect(reply.body).toMatchObject({
    user: { email, email_verified: false, namespace: 'default', status: 'active' },
    access: 'pending',
  })
  expect((await service.admin('GET', `/admin/users/${reply.body.user.id}`)).body.roles).toEqual(['base_user'])
})

describe('organization_name', () => {
  // covers organization-founder register-organization
  test('organization_name founds an organization with the user as its org_admin', async () => {
    const app = await buildApp(service)
    const { body } = await service.register(someEmail(), app.code, { organization_name: '  Ünïcode & Söhne — GmbH  ' })
    expect(body.organization).toEqual({
      id: expect.any(String),
      slug: 'unicode-sohne-gmbh',
      name: 'Ünïcode & Söhne — GmbH',
      role_codes: ['org_admin'],
    })
    expect((await service.admin('GET', `/admin/users/${body.user.id}`)).body.organizations).toEqual([body.organization])
  })

  test('a suffix is added to a taken slug, even for concurrent registrations', async () => {
    const app = await buildApp(service)
    const name = `Acme ${randomUUID().slice(0, 8)}`
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => service.register(someEmail(), app.code, { organization_name: name })),
    )
    const slugs = replies.map((reply) => reply.body.organization.slug as string)
    const plain = name.toLowerCase().replace(' ', '-')
    expect(new Set(slugs).size).toBe(12)
    expect(slugs.filter((slug) => slug === plain)).toHaveLength(1)
    for (const slug of slugs) expect(slug).toMatch(new RegExp(`^${plain}(-[a-z0-9]+)?$`))
  })

  test.for(['日本', '💥', '---', 'x'.repeat(200)])('a slug is made from the name %j', async (organization_name) => {
    const app = await buildApp(service)
    const { body } = await service.register(someEmail(), app.code, { organization_name })
    expect(body.organization).toMatchObject({ name: organization_name, slug: expect.stringMatching(/^[a-z0-9]+(-[a-z0-9]+)*$/) })
  })

  test.for(['', '   ', null])('the name %j counts as absent', async (organization_name) => {
    const app = await buildApp(service)
    expect((await service.register(someEmail(), app.code, { organization_name })).body.organization).toBeNull()
  })

  // covers register-first-match
  test('organization_name precedes the default organization, and access is still granted', async () => {
    const organization = await buildOrganization(service)
    const linked = await buildApp(service)
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      linked_app_codes: [linked.code],
    })
    const { body } = await service.register(someEmail(), app.code, {
      organization_name: 'Own',
      role_code: await buildRole(service, 'org'),
    })
    expect(body).toMatchObject({ access: 'granted', organization: { name: 'Own', role_codes: ['org_admin'] } })
    const { body: user } = await service.admin('GET', `/admin/users/${body.user.id}`)
    expect(user.organizations).toHaveLength(1)
    expect(user.apps.map((each: Json) => each.app_code).sort()).toEqual([app.code, linked.code].sort())
  })
})
