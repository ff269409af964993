// What a caller may do: the scopes of a service account and the rights of a system_admin, at every route that asks for them.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { buildOrganization, buildRole } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { auditEvents, countWrites } from '../support/rows.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  claimsOf,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  type TestService,
} from '../support/service.ts'

const service = serviceFixture({
  AUTH_CLIENT_OVERRIDES: 'declared',
  AUTH_ADMIN_APP_CODES: 'authctl,console',
  AUTH_REQUIRE_APP_CODE: 'false',
})

/** Apps and organization roles of a user: the codes of active grants, and the roles of each membership. */
async function holdings(userId: string, on = service): Promise<{ apps: string[]; roles: string[] }> {
  const { body } = await on.admin('GET', `/admin/users/${userId}`)
  return {
    apps: body.apps.map((grant: Json) => grant.app_code).sort(),
    roles: body.organizations.flatMap((each: Json) => each.role_codes),
  }
}

/** The calls that read overrides, for a user who comes to the app for the first time. Each returns the reply. */
const doors: Record<string, (app: Json, overrides: Json, token: string) => Promise<Reply>> = {
  login: async (app, overrides, token) => {
    const { user } = await buildUser(service, await buildApp(service))
    return service.call('POST', '/auth/login', {
      token,
      body: { email: user.email, password: PASSWORD, app_code: app.code, ...overrides },
    })
  },
  register: (app, overrides, token) =>
    service.call('POST', '/auth/register', {
      token,
      body: { email: someEmail(), password: PASSWORD, app_code: app.code, ...overrides },
    }),
}

describe('a service account', () => {
  const bound = ['users:register_or_return', 'users:override', 'tokens:introspect', 'limits:exempt']
  async function buildToken(scopes: string[] | undefined, apps: Json[]): Promise<string> {
    const body = { name: randomUUID(), service: 'notes', scopes, app_codes: apps.map(({ code }) => code) }
    return (await service.admin('POST', '/admin/service-accounts', { body })).body.token
  }
  const without = (scope: string) => ['permissions:register', ...bound].filter((each) => each !== scope)

  async function buildWorld(): Promise<{ app: Json; target: Json; overrides: Json }> {
    const organization = await buildOrganization(service)
    const target = await buildApp(service)
    const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    return { app, target, overrides: { role_code: 'org_admin', linked_app_codes: [target.code] } }
  }

  test.each(Object.keys(doors))('%s ignores overrides of a service account without users:override', async (door) => {
    const { app, target, overrides } = await buildWorld()
    for (const scopes of [undefined, without('users:override')]) {
      const reply = await doors[door]!(app, overrides, await buildToken(scopes, [app, target]))
      const { id } = reply.body.user
      expect(await holdings(id)).toEqual({ apps: [app.code], roles: ['org_member'] })
      const refused = await auditEvents(service, { event: 'override.refused', user_id: id })
      expect(refused.map(({ details, actor_type }) => [details, actor_type])).toEqual([
        [{ linked_app_codes: [target.code] }, refused[0].actor_type],
        [{ role_code: 'org_admin' }, refused[0].actor_type],
      ])
      expect(refused[0].actor_type).not.toBe('service_account')
    }
  })

  test.each(Object.keys(doors))(
    '%s links undeclared apps for users:override only if both apps belong to the account',
    async (door) => {
      const { app, target } = await buildWorld()
      const overrides = { linked_app_codes: [target.code] }
      for (const [apps, isLinked] of [
        [[app, target], true],
        [[app], false],
        [[target], false],
        [[await buildApp(service)], false],
      ] as [Json[], boolean][]) {
        const reply = await doors[door]!(app, overrides, await buildToken(['users:override'], apps))
        const expected = isLinked ? [app.code, target.code].sort() : [app.code]
        expect((await holdings(reply.body.user.id)).apps).toEqual(expected)
        const event = isLinked ? 'override.applied' : 'override.refused'
        expect(await auditEvents(service, { event, user_id: reply.body.user.id })).toHaveLength(1)
      }
    },
  )

  test.each(Object.keys(doors))(
    '%s gives users:override the roles that org_admins give, and org_admin only where the app declares it',
    async (door) => {
      const organization = await buildOrganization(service)
      const other = await buildRole(service, 'org')
      const given = await buildRole(service, 'org')
      await service.admin('PATCH', `/admin/roles/${given}`, { body: { assignable_by: 'org_admin' } })
      const settings = { auto_grant_on_signup: true, default_organization_id: organization.id }
      const silent = await buildApp(service, settings)
      const listing = await buildApp(service, { ...settings, override_role_codes: ['org_admin'] })
      const naming = await buildApp(service, { ...settings, default_role_code: 'org_admin' })
      const token = await buildToken(bound, [silent, listing, naming])
      for (const [app, role_code, expected] of [
        [silent, 'org_admin', 'org_member'],
        [silent, other, 'org_member'],
        [silent, given, given],
        [silent, 'system_admin', 'org_member'],
        [listing, 'org_admin', 'org_admin'],
        [listing, other, 'org_member'],
        [naming, 'org_admin', 'org_admin'],
        [naming, 'org_member', 'org_member'],
      ] as const) {
        const reply = await doors[door]!(app, { role_code }, token)
        expect((await holdings(reply.body.user.id)).roles, role_code).toEqual([expected])
      }
    },
  )

  test('register_or_return applies overrides only with users:override', async () => {
    const { app, target, overrides } = await buildWorld()
    for (const [scopes, apps] of [
      [without('users:override'), [app.code]],
      [['users:register_or_return', 'users:override'], [app.code, target.code].sort()],
    ] as const) {
      const body = { email: someEmail(), password: PASSWORD, app_code: app.code, mode: 'register_or_return', ...overrides }
      const reply = await service.call('POST', '/auth/register', { body, token: await buildToken([...scopes], [app, target]) })
      expect(reply.status).toBe(201)
      expect(await holdings(reply.body.user.id)).toEqual({ apps, roles: ['org_member'] })
    }
  })

  test.each(['users:register_or_return', 'users:override'])(
    'a service account with %s alone may do nothing that another scope allows',
    async (scope) => {
      const app = await buildApp(service, { auto_grant_on_signup: true })
      const { access_token } = await buildUser(service, app)
      const token = await buildToken([scope], [app])
      expectError(await service.call('POST', '/auth/introspect', { token, body: { token: access_token } }), 'scope_required')
      const declared = { service: 'notes', permissions: [] }
      expectError(await service.call('POST', '/admin/permissions/register', { token, body: declared }), 'scope_required')
      const body = { email: someEmail(), password: PASSWORD, app_code: app.code, mode: 'register_or_return' }
      const reply = await service.call('POST', '/auth/register', { token, body })
      if (scope === 'users:register_or_return') expect(reply.status).toBe(201)
      else expectError(reply, 'scope_required')
    },
  )
})

test('a link that the app itself names and that cannot be made is not audited as a refused override', async () => {
  const lost = await buildApp(service)
  const app = await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [lost.code] })
  expect((await service.admin('DELETE', `/admin/apps/${lost.id}`)).status).toBe(204)
  const { user } = await buildUser(service, app)
  expect(await auditEvents(service, { event: 'override.refused', user_id: user.id })).toEqual([])
})

describe('the token of a system_admin', () => {
  const grantAdmin = async (on: TestService, app: Json) => {
    const { id } = (await on.admin('GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
    await on.admin('POST', `/admin/users/${id}/apps/${app.id}`)
  }
  const adminToken = async (on: TestService, code: string | undefined): Promise<string> =>
    (await on.login(ADMIN_EMAIL, code as string)).body.access_token

  /** Calls every route that requires the rights of a system_admin. Returns the error code of each, undefined for a success. */
  async function codesFor(on: TestService, token: string): Promise<Json> {
    const app = await buildApp(on, { auto_grant_on_signup: true })
    const organization = await buildOrganization(on)
    const ask = async (method: string, path: string, body?: Json) => (await on.call(method, path, { token, body })).body?.code
    const user = { email: someEmail(), password: PASSWORD, app_code: app.code, mode: 'register_or_return' }
    return {
      read: await ask('GET', '/admin/apps'),
      write: await ask('PATCH', `/admin/organizations/${organization.id}`, { name: 'Another' }),
      members: await ask('GET', `/admin/organizations/${organization.id}/members`),
      permissions: await ask('POST', '/admin/permissions/register', { service: `s-${randomUUID()}`, permissions: [] }),
      register_or_return: await ask('POST', '/auth/register', user),
    }
  }
  /** A token as if issued after the app was deactivated, which ended earlier ones. Only a holder of the secret can sign one. */
  const ofAfterwards = (on: TestService, token: string) =>
    forgeToken({ ...claimsOf(token), iat: Math.floor(on.deps.clock() / 1000) + 5 })
  const everywhere = (code: string | undefined) => ({
    read: code,
    write: code,
    members: code,
    permissions: code,
    register_or_return: code,
  })

  /** Whether the token lets a login and a registration override what the app declares. */
  async function overrides(on: TestService, token: string): Promise<boolean[]> {
    const organization = await buildOrganization(on)
    const target = await buildApp(on)
    const app = await buildApp(on, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const asked = { password: PASSWORD, app_code: app.code, role_code: 'org_admin', linked_app_codes: [target.code] }
    const { user } = await buildUser(on, await buildApp(on))
    const replies = [
      await on.call('POST', '/auth/login', { token, body: { ...asked, email: user.email } }),
      await on.call('POST', '/auth/register', { token, body: { ...asked, email: someEmail() } }),
    ]
    const free = { apps: [app.code, target.code].sort(), roles: ['org_admin'] }
    const bound = { apps: [app.code], roles: ['org_member'] }
    const found = await Promise.all(replies.map(({ body }) => holdings(body.user.id, on)))
    for (const each of found) expect([free, bound]).toContainEqual(each)
    return found.map((each) => each.apps.length === 2)
  }

  test('the token administers only through an active app of AUTH_ADMIN_APP_CODES, on every route', async () => {
    const [console, shop] = [
      (await service.admin('POST', '/admin/apps', { body: { code: 'console', name: 'Console' } })).body,
      await buildApp(service, { auto_grant_on_signup: true }),
    ]
    await grantAdmin(service, console)
    const tokens = {
      console: await adminToken(service, console.code),
      shop: await adminToken(service, shop.code),
      appless: await adminToken(service, undefined),
    }
    for (const token of Object.values(tokens)) expect(claimsOf(token).roles).toContain('system_admin')
    expect(await codesFor(service, tokens.console)).toEqual(everywhere(undefined))
    expect(await overrides(service, tokens.console)).toEqual([true, true])
    for (const token of [tokens.shop, tokens.appless]) {
      expect(await codesFor(service, token)).toEqual(everywhere('admin_app_not_allowed'))
      expect(await overrides(service, token)).toEqual([false, false])
    }

    const status = (value: string) => service.admin('PATCH', `/admin/apps/${console.id}`, { body: { status: value } })
    expect((await status('inactive')).status).toBe(200)
    expect(await codesFor(service, tokens.console)).toEqual(everywhere('token_revoked'))
    const forged = ofAfterwards(service, tokens.console)
    expect(await codesFor(service, forged)).toEqual(everywhere('admin_app_not_allowed'))
    expect(await overrides(service, forged)).toEqual([false, false])
    expect((await status('active')).status).toBe(200)
    expect(await codesFor(service, tokens.console)).toEqual(everywhere('token_revoked'))
    expect(await codesFor(service, await adminToken(service, console.code))).toEqual(everywhere(undefined))
  })

  test('register_or_return refuses the token before anything is looked up or written', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    const token = await adminToken(service, app.code)
    const before = await countWrites(service)
    for (const [email, app_code] of [
      [user.email, app.code],
      [someEmail(), app.code],
      [someEmail(), 'no-such-app'],
    ]) {
      const body = { email, app_code, password: PASSWORD, mode: 'register_or_return' }
      expectError(await service.call('POST', '/auth/register', { token, body }), 'admin_app_not_allowed')
    }
    expect(await countWrites(service)).toEqual(before)
  })

  test('the token administers through every active app, and without one, if AUTH_ADMIN_APP_CODES is *', async () => {
    const open = await buildService({
      AUTH_CLIENT_OVERRIDES: 'declared',
      AUTH_ADMIN_APP_CODES: '*',
      AUTH_REQUIRE_APP_CODE: 'false',
    })
    const app = await buildApp(open)
    await grantAdmin(open, app)
    const through = await adminToken(open, app.code)
    for (const token of [through, await adminToken(open, undefined)]) {
      expect(await codesFor(open, token)).toEqual(everywhere(undefined))
      expect(await overrides(open, token)).toEqual([true, true])
    }
    await open.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    const forged = ofAfterwards(open, through)
    expect(await codesFor(open, forged)).toEqual(everywhere('admin_app_not_allowed'))
    expect(await overrides(open, forged)).toEqual([false, false])
  })

  test('a login as base_user never administers', async () => {
    const open = await buildService({
      AUTH_CLIENT_OVERRIDES: 'declared',
      AUTH_ADMIN_APP_CODES: '*',
      AUTH_ALLOW_BASE_USER_LOGIN: 'true',
    })
    await buildApp(open)
    const token = await adminToken(open, undefined)
    expect(claimsOf(token).roles).toEqual(['base_user'])
    expect(await codesFor(open, token)).toEqual(everywhere('admin_app_not_allowed'))
    expect(await overrides(open, token)).toEqual([false, false])
  })
})
