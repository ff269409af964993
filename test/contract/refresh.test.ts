import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { addMember, assignRole, buildOrganization, buildRole, closeAccount, registerPermissions } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, somePool, type TestService } from '../support/service.ts'

const service = serviceFixture()

const refresh = (refresh_token: string, extra: object = {}, on: TestService = service) =>
  on.call('POST', '/auth/refresh', { body: { refresh_token, ...extra } })
const me = (token: string, on: TestService = service) => on.call('GET', '/auth/me', { token })
const grantingApp = (settings: object = {}, on: TestService = service) =>
  buildApp(on, { auto_grant_on_signup: true, ...settings })
const revocationsOf = (userId: string): Promise<Json[]> =>
  service.deps.db('revocations').where({ user_id: userId }).orderBy('cursor')

async function expectDead(refreshToken: string, code = 'invalid_refresh_token', on: TestService = service): Promise<void> {
  const { body, headers } = await refresh(refreshToken, {}, on)
  expect(body).toMatchObject({ status: 401, code })
  expect(headers.get('cache-control')).toBe('no-store')
}

// covers auth-refresh
test('a refresh answers like a login, with a new pair of tokens for the same session', async () => {
  const app = await grantingApp()
  const first = await buildUser(service, app)
  const { status, body, headers } = await refresh(first.refresh_token)
  expect(status).toBe(200)
  expect(headers.get('cache-control')).toBe('no-store')
  expect(body).toEqual({
    token_type: 'Bearer',
    access_token: expect.any(String),
    expires_in: 900,
    refresh_token: expect.any(String),
    refresh_expires_in: 2_592_000,
    user: first.user,
    app: { id: app.id, code: app.code },
    organization: null,
  })
  expect(body.refresh_token).not.toBe(first.refresh_token)
  const [before, after] = [claimsOf(first.access_token), claimsOf(body.access_token)]
  expect(after.sid).toBe(before.sid)
  expect(after.jti).not.toBe(before.jti)
  for (const token of [first.access_token, body.access_token]) expect((await me(token)).status).toBe(200)
})

test('a refresh token holds 256 random bits and only its hash is stored', async () => {
  const { refresh_token } = await buildUser(service, await grantingApp())
  expect(Buffer.from(/^grt_([\w-]{43})/.exec(refresh_token)?.[1] ?? '', 'base64url')).toHaveLength(32)
  const rows = JSON.stringify([await service.deps.db('refresh_tokens'), await service.deps.db('sessions')])
  expect(rows).not.toContain(refresh_token)
  const { body } = await refresh(refresh_token)
  const after = JSON.stringify(await service.deps.db('refresh_tokens'))
  expect(after).not.toContain(refresh_token)
  expect(after).not.toContain(body.refresh_token)
})

describe('a refresh token used twice', () => {
  test('a second use within the leeway gives a new access token and the same unused successor', async () => {
    const first = await buildUser(service, await grantingApp())
    const once = (await refresh(first.refresh_token)).body
    for (const seconds of [0, 4, 5]) {
      service.advance(seconds)
      const again = await refresh(first.refresh_token)
      expect(again.status).toBe(200)
      expect(again.body.refresh_token).toBe(once.refresh_token)
      expect(claimsOf(again.body.access_token).jti).not.toBe(claimsOf(once.access_token).jti)
      expect(again.body.refresh_expires_in).toBeLessThanOrEqual(once.refresh_expires_in)
    }
    expect((await refresh(once.refresh_token)).status).toBe(200)
  })

  // covers auth-refresh
  test('a second use after the leeway ends the session, is audited and reaches consumers', async () => {
    const app = await grantingApp()
    const first = await buildUser(service, app)
    const sid = claimsOf(first.access_token).sid
    const other = (await service.login(first.user.email, app.code)).body
    const once = (await refresh(first.refresh_token)).body
    service.advance(11)
    await expectDead(first.refresh_token, 'refresh_token_reused')
    await expectDead(once.refresh_token)
    await expectDead(first.refresh_token)
    for (const token of [first.access_token, once.access_token]) {
      expect((await me(token)).body).toMatchObject({ status: 401, code: 'token_revoked' })
    }
    expect((await me(other.access_token)).status).toBe(200)
    expect((await refresh(other.refresh_token)).status).toBe(200)
    const events = await auditEvents(service, { event: 'token.reuse_detected', user_id: first.user.id })
    expect(events).toMatchObject([{ app_id: app.id, details: { session_id: sid } }])
    expect(await revocationsOf(first.user.id)).toMatchObject([{ session_id: sid, app_id: app.id, min_tv: null }])
  })

  test('a second use within the leeway ends the session if the successor was used', async () => {
    const first = await buildUser(service, await grantingApp())
    const second = (await refresh(first.refresh_token)).body
    const third = (await refresh(second.refresh_token)).body
    await expectDead(first.refresh_token, 'refresh_token_reused')
    for (const token of [second.refresh_token, third.refresh_token]) await expectDead(token)
    expect((await me(third.access_token)).body.code).toBe('token_revoked')
  })

  test("a second use after the token's own lifetime ends the session if the session lives", async () => {
    const on = await buildService({ JWT_REFRESH_TTL_SECONDS: '100' })
    const first = await buildUser(on, await grantingApp({}, on))
    on.advance(90)
    const second = (await refresh(first.refresh_token, {}, on)).body
    on.advance(90)
    const third = (await refresh(second.refresh_token, {}, on)).body
    await expectDead(first.refresh_token, 'refresh_token_reused', on)
    await expectDead(third.refresh_token, 'invalid_refresh_token', on)
  })

  test('a second use ends the session even if the token is no longer among the last ones stored', async () => {
    const { refresh_token: first, user } = await buildUser(service, await grantingApp())
    const chain = [first]
    for (let use = 0; use < 12; use += 1) chain.push((await refresh(chain.at(-1)!)).body.refresh_token)
    const [session] = await service.deps.db('sessions').where({ user_id: user.id })
    const kept = await service.deps.db('refresh_tokens').where({ session_id: session.id })
    expect(kept.length).toBeLessThanOrEqual(5)
    expect(kept.filter(({ used_at }: Json) => used_at === null)).toHaveLength(1)
    const reused = await service.call('POST', '/auth/refresh', { body: { refresh_token: first } })
    expectError(reused, 'refresh_token_reused')
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token: chain.at(-1) } }), 'invalid_refresh_token')
    const [event] = await auditEvents(service, { event: 'token.reuse_detected', user_id: user.id })
    expect(event).toBeDefined()
    // Once the session has ended, reuse is no longer reported as such.
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token: chain[1] } }), 'invalid_refresh_token')
  })

  test('a refresh with an unknown token of up to 2,000 characters is answered 401', async () => {
    for (const length of [1, 501, 2_000]) await expectDead('x'.repeat(length))
  })

  test('a token forged from a known session id does not count as reuse', async () => {
    const { refresh_token: token, access_token } = await buildUser(service, await grantingApp())
    const session = claimsOf(access_token).sid.replaceAll('-', '')
    for (const forged of [`grt_${'a'.repeat(43)}${session}${'a'.repeat(22)}`, token.replace(/.{22}$/, 'a'.repeat(22))])
      expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token: forged } }), 'invalid_refresh_token')
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token: token } })).status).toBe(200)
  })

  test('concurrent uses of a forgotten token end the session once, and no token stays valid', async () => {
    const { refresh_token: first, user } = await buildUser(service, await grantingApp())
    let token = first
    for (let use = 0; use < 6; use += 1)
      token = (await service.call('POST', '/auth/refresh', { body: { refresh_token: token } })).body.refresh_token
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => service.call('POST', '/auth/refresh', { body: { refresh_token: first } })),
    )
    expect(replies.every(({ status }) => status === 401)).toBe(true)
    const sessions = await service.deps.db('sessions').where({ user_id: user.id }).pluck('ended_at')
    expect(sessions.every((at: number | null) => at !== null)).toBe(true)
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token: token } }), 'invalid_refresh_token')
  })

  test('a second use ends the session at once with AUTH_REFRESH_LEEWAY_SECONDS=0', async () => {
    const on = await buildService({ AUTH_REFRESH_LEEWAY_SECONDS: '0' })
    const first = await buildUser(on, await grantingApp({}, on))
    expect((await refresh(first.refresh_token, {}, on)).status).toBe(200)
    on.advance(0.001)
    await expectDead(first.refresh_token, 'refresh_token_reused', on)
  })
})

describe('invalid refresh tokens', () => {
  test.for(['x', 'grt_', `grt_${randomBytes(32).toString('base64url')}`, 'a.b.c', '%00', "' or 1=1 --", 'é'.repeat(100)])(
    'the refresh token %j is refused',
    async (token) => expectDead(token),
  )

  test.for([undefined, null, '', 5, [], 'x'.repeat(2_001)])('the refresh token %j is answered 400', async (refresh_token) => {
    const { body } = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expect(body).toMatchObject({ status: 400, code: 'validation_failed' })
    expect(body.errors[0].path).toBe('refresh_token')
  })

  test('an access token cannot refresh, and a refresh token opens nothing as a bearer', async () => {
    const first = await buildUser(service, await grantingApp())
    expect((await refresh(first.access_token)).status).toBeGreaterThanOrEqual(400)
    expect((await me(first.refresh_token)).body).toMatchObject({ status: 401, code: 'token_invalid' })
  })
})

describe('lifetimes of refresh tokens and sessions', () => {
  test('an unused token expires after its own lifetime, and each use starts a new one', async () => {
    const on = await buildService({ JWT_REFRESH_TTL_SECONDS: '100', JWT_SESSION_MAX_SECONDS: '1000' })
    const app = await grantingApp({}, on)
    let { refresh_token: token } = await buildUser(on, app)
    for (let use = 0; use < 5; use += 1) {
      on.advance(99)
      const { status, body } = await refresh(token, {}, on)
      expect(status).toBe(200)
      token = body.refresh_token
    }
    on.advance(101)
    await expectDead(token, 'invalid_refresh_token', on)
  })

  test('a session ends after its absolute lifetime, however often it is refreshed', async () => {
    const on = await buildService({
      JWT_REFRESH_TTL_SECONDS: '100',
      JWT_SESSION_MAX_SECONDS: '250',
      JWT_ACCESS_TTL_SECONDS: '80',
    })
    let current = await buildUser(on, await grantingApp({}, on))
    for (let use = 0; use < 4; use += 1) {
      on.advance(60)
      const { status, body } = await refresh(current.refresh_token, {}, on)
      expect(status).toBe(200)
      current = body
    }
    expect(current.refresh_expires_in).toBeLessThanOrEqual(10)
    expect(current.expires_in).toBeLessThanOrEqual(10)
    on.advance(11)
    await expectDead(current.refresh_token, 'invalid_refresh_token', on)
    expect((await me(current.access_token, on)).status).toBe(401)
  })
})

describe('the data that each refresh reads again', () => {
  test('a refresh reads roles and permissions again', async () => {
    const app = await grantingApp({ service_codes: ['shop'], permission_scope: 'roles' })
    await registerPermissions(service, 'shop', ['orders:read'])
    const first = await buildUser(service, app)
    const role = await buildRole(service, 'global', ['orders:read'])
    await assignRole(service, first.user.id, role)
    const second = (await refresh(first.refresh_token)).body
    expect(claimsOf(second.access_token).roles).toContain(role)
    expect(claimsOf(second.access_token).permissions).toContain('orders:read')
    await service.deps.db('user_roles').where({ user_id: first.user.id, role_code: role }).delete()
    const third = (await refresh(second.refresh_token)).body
    expect(claimsOf(third.access_token).roles).toEqual(['base_user'])
    expect(claimsOf(third.access_token).permissions).not.toContain('orders:read')
  })

  test('a refresh reads names and address again', async () => {
    const first = await buildUser(service, await grantingApp())
    const email = `renamed-${first.user.email}`
    await service.deps.db('users').where({ id: first.user.id }).update({ first_name: 'Renamed', email })
    const { body } = await refresh(first.refresh_token)
    expect(body.user).toMatchObject({ first_name: 'Renamed', email })
    expect(claimsOf(body.access_token)).toMatchObject({ first_name: 'Renamed', email })
  })

  test('a refresh for an inactive app is answered 403, spends nothing, and works once the app is active', async () => {
    const app = await grantingApp()
    const first = await buildUser(service, app)
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    for (let attempt = 0; attempt < 2; attempt += 1) {
      expect((await refresh(first.refresh_token)).body).toMatchObject({ status: 403, code: 'app_inactive' })
    }
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'active' } })
    service.advance(20)
    expect((await refresh(first.refresh_token)).status).toBe(200)
  })

  test('the deletion of an app ends its sessions', async () => {
    const app = await grantingApp()
    const first = await buildUser(service, app)
    expect((await service.admin('DELETE', `/admin/apps/${app.id}?force=true`)).status).toBe(204)
    await expectDead(first.refresh_token)
    expect((await me(first.access_token)).body.code).toBe('token_revoked')
  })

  test("a refresh is answered 403 and spends nothing after the user has lost the tag of the app's pool", async () => {
    const [home, elsewhere] = [somePool(), somePool()]
    const app = await grantingApp({ registration_namespace: home })
    const { user } = await buildUser(service, await grantingApp({ registration_namespace: elsewhere }))
    const tag = (change: Json) => service.admin('PATCH', `/admin/users/${user.id}/namespaces`, { body: change })
    await tag({ add: [home] })
    const first = (await service.login(user.email, app.code)).body
    await tag({ remove: [home] })
    for (let i = 0; i < 2; i += 1)
      expect((await refresh(first.refresh_token)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
    service.advance(20)
    await tag({ add: [home] })
    expect((await refresh(first.refresh_token)).status).toBe(200)
  })

  test('a refresh is answered 403 and spends nothing after the app has stopped reading the pool, even for a system_admin', async () => {
    const elsewhere = somePool()
    const app = await grantingApp({ registration_namespace: somePool(), read_namespaces: [elsewhere] })
    const { user } = await buildUser(service, await grantingApp({ registration_namespace: elsewhere }))
    await assignRole(service, user.id, 'system_admin')
    const first = (await service.login(user.email, app.code)).body
    const read = (pools: string[]) => service.admin('PATCH', `/admin/apps/${app.id}`, { body: { read_namespaces: pools } })
    await read([])
    expect((await refresh(first.refresh_token)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
    service.advance(20)
    await read([elsewhere])
    expect((await refresh(first.refresh_token)).status).toBe(200)
  })

  test('a refresh is answered 403 after the grant has expired, and the token is invalid after the grant was revoked', async () => {
    const app = await buildApp(service)
    const { user } = await buildUser(service, app)
    const path = `/admin/users/${user.id}/apps/${app.id}`
    const expires_at = new Date(service.deps.clock() + 60_000).toISOString()
    await service.admin('POST', path, { body: { expires_at } })
    const first = (await service.login(user.email, app.code)).body
    service.advance(61)
    expect((await refresh(first.refresh_token)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
    expect((await me(first.access_token)).status).toBe(401)
    await service.admin('POST', path)
    const second = (await service.login(user.email, app.code)).body
    await service.admin('DELETE', path)
    await expectDead(second.refresh_token)
  })

  test('a former system_admin cannot refresh at authctl', async () => {
    const { user } = await buildUser(service, await buildApp(service))
    await assignRole(service, user.id, 'system_admin')
    const first = (await service.login(user.email, 'authctl')).body
    await service.deps.db('user_roles').where({ user_id: user.id, role_code: 'system_admin' }).delete()
    expect((await refresh(first.refresh_token)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
  })

  test.for(['suspended', 'deleted'] as const)('the refresh token of a %s account is invalid', async (status) => {
    const first = await buildUser(service, await grantingApp())
    await closeAccount(service, first.user.id, status)
    await expectDead(first.refresh_token)
    expect((await me(first.access_token)).body.code).toBe('token_revoked')
  })

  test('a refresh is answered 403 to a suspended user, even if the suspension ended no session', async () => {
    const first = await buildUser(service, await grantingApp())
    await service.deps.db('users').where({ id: first.user.id }).update({ status: 'suspended' })
    expect((await refresh(first.refresh_token)).body).toMatchObject({ status: 403, code: 'account_suspended' })
    expect((await me(first.access_token)).body.code).toBe('token_revoked')
  })
})

describe('the organization of a refresh', () => {
  test('a refresh keeps the organization of the session, and can ask for another', async () => {
    const app = await grantingApp()
    const { user } = await buildUser(service, app)
    const [here, there] = [await buildOrganization(service), await buildOrganization(service)]
    await addMember(service, here.id, user.id, ['org_member'])
    await addMember(service, there.id, user.id, ['org_admin'])
    const login = (await service.login(user.email, app.code, { organization_id: here.id })).body
    const kept = (await refresh(login.refresh_token)).body
    expect(kept.organization).toEqual({ ...here, role_codes: ['org_member'] })
    expect(claimsOf(kept.access_token)).toMatchObject({ org_id: here.id, org_slug: here.slug, roles: ['org_member'] })
    const switched = (await refresh(kept.refresh_token, { organization_id: there.id })).body
    expect(claimsOf(switched.access_token)).toMatchObject({ org_id: there.id, roles: ['org_admin'] })
    const after = (await refresh(switched.refresh_token, { organization_id: ' ' })).body
    expect(claimsOf(after.access_token)).toMatchObject({ org_id: there.id, roles: ['org_admin'] })
  })

  test('a refresh for an organization without membership is answered 403 and spends nothing', async () => {
    const first = await buildUser(service, await grantingApp())
    const foreign = await buildOrganization(service)
    const refused = await refresh(first.refresh_token, { organization_id: foreign.id })
    expect(refused.body).toMatchObject({ status: 403, code: 'organization_membership_required' })
    service.advance(20)
    expect((await refresh(first.refresh_token)).status).toBe(200)
    expect((await refresh(first.refresh_token, { organization_id: 'x' })).body.code).toBe('validation_failed')
  })

  test('a refresh is refused after the user has left the organization, until it asks for another', async () => {
    const app = await grantingApp()
    const { user } = await buildUser(service, app)
    const [left, kept] = [await buildOrganization(service), await buildOrganization(service)]
    for (const organization of [left, kept]) await addMember(service, organization.id, user.id, ['org_member'])
    const login = (await service.login(user.email, app.code, { organization_id: left.id })).body
    await service.deps.db('organization_memberships').where({ organization_id: left.id }).delete()
    expect((await refresh(login.refresh_token)).body.code).toBe('organization_membership_required')
    expect((await refresh(login.refresh_token, { organization_id: kept.id })).status).toBe(200)
  })

  test('a refresh for a deleted organization is answered 403, so the session never gets global roles instead', async () => {
    const { user } = await buildUser(service, await grantingApp())
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_member'])
    const app = await grantingApp()
    const { body } = await service.login(user.email, app.code, { organization_id: organization.id })
    await service.admin('DELETE', `/admin/organizations/${organization.id}/members/${user.id}`)
    expect((await service.admin('DELETE', `/admin/organizations/${organization.id}`)).status).toBe(204)
    for (let i = 0; i < 2; i += 1)
      expect((await refresh(body.refresh_token)).body).toMatchObject({ status: 403, code: 'organization_membership_required' })
  })
})

test('unknown members in the body of a refresh are ignored or refused, and give no role', async () => {
  const first = await buildUser(service, await grantingApp())
  const { status, body } = await refresh(first.refresh_token, {
    role_code: 'org_admin',
    linked_app_codes: ['authctl'],
    app_code: 'x',
  })
  expect([200, 400]).toContain(status)
  if (status === 200) expect(claimsOf(body.access_token).roles).toEqual(['base_user'])
})

describe('logout', () => {
  const logout = (refresh_token: unknown) => service.call('POST', '/auth/logout', { body: { refresh_token } })

  test('a logout ends only its own session, is audited, reaches consumers, and is answered 204 a second time too', async () => {
    const app = await grantingApp()
    const first = await buildUser(service, app)
    const other = (await service.login(first.user.email, app.code)).body
    const { status, body } = await logout(first.refresh_token)
    expect([status, body]).toEqual([204, ''])
    await expectDead(first.refresh_token)
    expect((await me(first.access_token)).body).toMatchObject({ status: 401, code: 'token_revoked' })
    expect((await me(other.access_token)).status).toBe(200)
    expect((await refresh(other.refresh_token)).status).toBe(200)
    expect((await logout(first.refresh_token)).status).toBe(204)
    const sid = claimsOf(first.access_token).sid
    expect(await auditEvents(service, { event: 'logout', user_id: first.user.id })).toHaveLength(1)
    expect(await revocationsOf(first.user.id)).toMatchObject([{ session_id: sid, app_id: app.id }])
  })

  test('a logout with a spent token ends the session that continued from it', async () => {
    const first = await buildUser(service, await grantingApp())
    const second = (await refresh(first.refresh_token)).body
    expect((await logout(first.refresh_token)).status).toBe(204)
    await expectDead(second.refresh_token)
  })

  test('a logout with an unknown token is answered 204, and one without a token 400', async () => {
    const before = await countRows(service, 'revocations')
    expect((await logout('unknown')).status).toBe(204)
    for (const token of [undefined, '', 5])
      expect((await logout(token)).body).toMatchObject({ status: 400, code: 'validation_failed' })
    expect(await countRows(service, 'revocations')).toBe(before)
  })
})
