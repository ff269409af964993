import { describe, expect, test } from 'vitest'
import { createLogger } from '../../packages/server/src/adapters/logger.ts'
import { addMember, buildOrganization, buildRole } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents, changeCatalog, countWrites } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, type TestService } from '../support/service.ts'

const declared = serviceFixture({ AUTH_CLIENT_OVERRIDES: 'declared' })
const service = serviceFixture()

/** What a user holds: app codes with their status, and organizations with roles by slug. */
async function holdings(
  on: TestService,
  userId: string,
): Promise<{ apps: Record<string, string>; organizations: Record<string, string[]> }> {
  const { body } = await on.admin('GET', `/admin/users/${userId}`)
  return {
    apps: Object.fromEntries(body.apps.map((grant: Json) => [grant.app_code, grant.status])),
    organizations: Object.fromEntries(body.organizations.map((each: Json) => [each.slug, each.role_codes])),
  }
}

const newcomer = async (on: TestService): Promise<Json> => (await buildUser(on, await buildApp(on))).user

/** The ways by which a user touches an app for the first time; each gives the user's id. */
const doors: Record<string, (on: TestService, app: { code: string }, extra?: Record<string, unknown>) => Promise<string>> = {
  register: async (on, app, extra) => (await buildUser(on, app, extra)).user.id,
  login: async (on, app, extra) => {
    const user = await newcomer(on)
    const reply = await on.login(user.email, app.code, extra)
    expect(reply.status).toBe(200)
    return user.id
  },
  register_or_login: async (on, app, extra) => {
    const user = await newcomer(on)
    const reply = await on.register(user.email, app.code, { mode: 'register_or_login', ...extra })
    expect([reply.status, reply.body.access]).toEqual([200, 'granted'])
    return user.id
  },
}

describe.for(Object.entries(doors))('the first touch by %s', ([, touch]) => {
  // covers app-default-organization app-linked state-grant-auto provision-first-touch provision-apps provision-organization login-provisions
  test('the user gets the app, the linked apps, and the default organization with its role, and unknown codes are skipped', async () => {
    const organization = await buildOrganization(service)
    const role = await buildRole(service, 'org')
    const [one, two] = [await buildApp(service), await buildApp(service)]
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      default_role_code: role,
      linked_app_codes: [one.code, 'nobody-knows-this', two.code, one.code],
    })
    const userId = await touch(service, app)
    expect(await holdings(service, userId)).toEqual({
      apps: { [app.code]: 'active', [one.code]: 'active', [two.code]: 'active' },
      organizations: { [organization.slug]: [role] },
    })
    const { items } = (await service.admin('GET', `/admin/users/${userId}/apps`)).body
    const via = Object.fromEntries(items.map((grant: Json) => [grant.app_code, grant.granted_via]))
    expect(via).toEqual({ [app.code]: 'auto', [one.code]: 'link', [two.code]: 'link' })
    // The unknown code is in the app's settings, not in an override, so no refused override is audited.
    expect(await auditEvents(service, { event: 'override.refused', user_id: userId })).toEqual([])
  })

  // covers app-default-role
  test('the user gets org_member if the app names no role or one that is no longer org-scoped', async () => {
    const organization = await buildOrganization(service)
    const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    expect((await holdings(service, await touch(service, app))).organizations).toEqual({ [organization.slug]: ['org_member'] })
    await changeCatalog(service, (db) => db('apps').where({ id: app.id }).update({ default_role_code: 'system_admin' }))
    const userId = await touch(service, app)
    expect((await holdings(service, userId)).organizations).toEqual({ [organization.slug]: ['org_member'] })
    expect((await service.admin('GET', `/admin/users/${userId}`)).body.roles).toEqual(['base_user'])
  })

  // covers provision-platform-role
  test('the user gets org_member for a platform or unknown role in the request, whatever role the app names', async () => {
    const organization = await buildOrganization(service)
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      default_role_code: await buildRole(service, 'org'),
    })
    for (const role_code of ['system_admin', 'no-such-role']) {
      const userId = await touch(service, app, { role_code })
      expect((await holdings(service, userId)).organizations).toEqual({ [organization.slug]: ['org_member'] })
    }
  })

  // covers override-request override-fallback
  test('role and links of the request replace those of the app', async () => {
    const organization = await buildOrganization(service)
    const role = await buildRole(service, 'org')
    const [standing, wanted] = [await buildApp(service), await buildApp(service)]
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      linked_app_codes: [standing.code],
    })
    const userId = await touch(service, app, { role_code: role, linked_app_codes: [wanted.code] })
    expect(await holdings(service, userId)).toEqual({
      apps: { [app.code]: 'active', [wanted.code]: 'active' },
      organizations: { [organization.slug]: [role] },
    })
    const unlinked = await touch(service, app, { linked_app_codes: [] })
    expect((await holdings(service, unlinked)).apps).toEqual({ [app.code]: 'active' })
    const unchanged = await touch(service, app, { role_code: '', linked_app_codes: null })
    expect(await holdings(service, unchanged)).toEqual({
      apps: { [app.code]: 'active', [standing.code]: 'active' },
      organizations: { [organization.slug]: ['org_member'] },
    })
  })

  // covers override-role
  test.for(['system_admin', 'super_admin', 'base_user', 'no-such-role', 'ORG_ADMIN', ' org_admin'])(
    'the user gets org_member for the requested role %j, and no global role',
    async (role_code) => {
      const organization = await buildOrganization(service)
      const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
      const userId = await touch(service, app, { role_code })
      expect((await holdings(service, userId)).organizations).toEqual({ [organization.slug]: ['org_member'] })
      expect((await service.admin('GET', `/admin/users/${userId}`)).body.roles).toEqual(['base_user'])
    },
  )

  test('the user never gets authctl by a link', async () => {
    for (const on of [service, declared]) {
      const app = await buildApp(on, { auto_grant_on_signup: true })
      expect((await holdings(on, await touch(on, app, { linked_app_codes: ['authctl', app.code] }))).apps).toEqual({
        [app.code]: 'active',
      })
    }
  })

  // covers app-default-organization-auto-grant provision-first-touch
  test('the user gets nothing if the app does not auto-grant, whatever the request names', async () => {
    const organization = await buildOrganization(service)
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const app = await buildApp(service, { default_organization_id: organization.id, linked_app_codes: [other.code] })
    const user = await newcomer(service)
    const before = await countWrites(service)
    const overrides = { role_code: 'org_admin', linked_app_codes: [app.code, other.code] }
    expect((await service.login(user.email, app.code, overrides)).body.code).toBe('app_access_denied')
    expect(await countWrites(service)).toEqual(before)
    const registered = await buildUser(service, app, overrides)
    expect(registered).toMatchObject({ access: 'pending', organization: null })
    expect(await holdings(service, registered.user.id)).toEqual({ apps: {}, organizations: {} })
  })
})

// covers provision-apps
test('a linked app that does not exist is skipped with a warning', async () => {
  const on = await buildService()
  const linked = await buildApp(on)
  const app = await buildApp(on, { auto_grant_on_signup: true, linked_app_codes: ['nobody-knows-this', linked.code] })
  const lines: string[] = []
  on.deps.logger = createLogger('warn', { write: (line) => void lines.push(line) })
  const { user } = await buildUser(on, app)
  expect((await holdings(on, user.id)).apps).toEqual({ [app.code]: 'active', [linked.code]: 'active' })
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', app: app.code, linked_app_codes: ['nobody-knows-this'] },
  ])
})

test('a request that names more than fifty linked apps is 400 at login and at registration', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const user = await newcomer(service)
  const linked_app_codes = Array.from({ length: 51 }, (_, index) => `app-${index}`)
  expect((await service.login(user.email, app.code, { linked_app_codes })).body).toMatchObject({
    status: 400,
    code: 'validation_failed',
  })
  expect((await service.login(user.email, app.code, { linked_app_codes: linked_app_codes.slice(1) })).status).toBe(200)
})

test('provisioning comes before the check of organization membership, and a failed login undoes it', async () => {
  const organization = await buildOrganization(service)
  const foreign = await buildOrganization(service)
  const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
  const user = await newcomer(service)
  const before = await countWrites(service)
  const refused = await service.login(user.email, app.code, { organization_id: foreign.id })
  expect(refused.body).toMatchObject({ status: 403, code: 'organization_membership_required' })
  expect(await countWrites(service)).toEqual(before)
  const admitted = await service.login(user.email, app.code, { organization_id: organization.id })
  expect(claimsOf(admitted.body.access_token)).toMatchObject({ org_id: organization.id, roles: ['org_member'] })
})

// covers provision-idempotent provision-first-touch
test('later logins provision nothing, also after the settings of the app changed, and ignore overrides', async () => {
  const [early, late] = [await buildApp(service), await buildApp(service)]
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const organization = await buildOrganization(service)
  const body = { default_organization_id: organization.id, linked_app_codes: [early.code] }
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body })
  const overrides = { role_code: 'org_admin', linked_app_codes: [late.code] }
  expect((await service.login(user.email, app.code, overrides)).status).toBe(200)
  expect(await holdings(service, user.id)).toEqual({ apps: { [app.code]: 'active' }, organizations: {} })
})

test('an existing membership is never changed', async () => {
  const organization = await buildOrganization(service)
  const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
  const user = await newcomer(service)
  const role = await buildRole(service, 'org')
  await addMember(service, organization.id, user.id, [role])
  expect((await service.login(user.email, app.code, { role_code: 'org_admin' })).status).toBe(200)
  expect((await holdings(service, user.id)).organizations).toEqual({ [organization.slug]: [role] })
})

describe('a grant that was revoked or has expired', () => {
  test('auto-grant does not restore a revoked grant, at login or at registration', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user } = await buildUser(service, app)
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    expect((await service.login(user.email, app.code)).body).toMatchObject({ status: 403, code: 'app_access_denied' })
    const again = await service.register(user.email, app.code, { mode: 'register_or_login' })
    expect(again.body).toMatchObject({ status: 403, code: 'app_access_denied' })
    expect((await holdings(service, user.id)).apps).toEqual({ [app.code]: 'revoked' })
  })

  test('linking does not restore a revoked grant, by setting or by override', async () => {
    const revoked = await buildApp(service)
    const user = await newcomer(service)
    const grant = `/admin/users/${user.id}/apps/${revoked.id}`
    await service.admin('POST', grant)
    await service.admin('DELETE', grant)
    const linking = await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [revoked.code] })
    const other = await buildApp(service, { auto_grant_on_signup: true })
    expect((await service.login(user.email, linking.code)).status).toBe(200)
    expect((await service.login(user.email, other.code, { linked_app_codes: [revoked.code] })).status).toBe(200)
    expect((await holdings(service, user.id)).apps[revoked.code]).toBe('revoked')
    expect((await service.login(user.email, revoked.code)).body.code).toBe('app_access_denied')
  })

  test('auto-grant does not renew an expired grant', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const user = await newcomer(service)
    const expires_at = new Date(service.deps.clock() + 60_000).toISOString()
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`, { body: { expires_at } })
    expect((await service.login(user.email, app.code)).status).toBe(200)
    service.advance(61)
    expect((await service.login(user.email, app.code)).body.code).toBe('app_access_denied')
  })
})

test('links of linked apps are not followed', async () => {
  const last = await buildApp(service)
  const middle = await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [last.code] })
  const first = await buildApp(service, { auto_grant_on_signup: true, linked_app_codes: [middle.code] })
  const { user } = await buildUser(service, first)
  expect((await holdings(service, user.id)).apps).toEqual({ [first.code]: 'active', [middle.code]: 'active' })
})

describe('AUTH_CLIENT_OVERRIDES=declared', () => {
  test.for(Object.entries(doors))('a touch by %s links only apps that auto-grant or that the app lists', async ([, touch]) => {
    const listed = await buildApp(declared)
    const granting = await buildApp(declared, { auto_grant_on_signup: true })
    const closed = await buildApp(declared)
    const app = await buildApp(declared, { auto_grant_on_signup: true, linked_app_codes: [listed.code] })
    const linked_app_codes = [closed.code, granting.code, 'nobody-knows-this', listed.code]
    const userId = await touch(declared, app, { linked_app_codes })
    expect((await holdings(declared, userId)).apps).toEqual({
      [app.code]: 'active',
      [granting.code]: 'active',
      [listed.code]: 'active',
    })
    const [refused] = await auditEvents(declared, { event: 'override.refused', user_id: userId })
    expect(refused.details.linked_app_codes.sort()).toEqual([closed.code, 'nobody-knows-this'].sort())
  })

  test('an app that the app itself lists is linked even if it does not auto-grant', async () => {
    const listed = await buildApp(declared)
    const app = await buildApp(declared, { auto_grant_on_signup: true, linked_app_codes: [listed.code] })
    const { user } = await buildUser(declared, app)
    expect((await holdings(declared, user.id)).apps).toEqual({ [app.code]: 'active', [listed.code]: 'active' })
  })

  test('a role that the app declares is given, also org_member, and any other is ignored', async () => {
    const organization = await buildOrganization(declared)
    const [standing, offered, other] = [
      await buildRole(declared, 'org'),
      await buildRole(declared, 'org'),
      await buildRole(declared, 'org'),
    ]
    const app = await buildApp(declared, {
      auto_grant_on_signup: true,
      default_organization_id: organization.id,
      default_role_code: standing,
      override_role_codes: [offered],
    })
    const given: Record<string, string> = {
      [standing]: standing,
      [offered]: offered,
      org_member: 'org_member',
      [other]: standing,
      org_admin: standing,
      system_admin: standing,
      'no-such-role': standing,
    }
    for (const [role_code, expected] of Object.entries(given)) {
      for (const touch of [doors.register!, doors.login!]) {
        const userId = await touch(declared, app, { role_code })
        expect((await holdings(declared, userId)).organizations, role_code).toEqual({ [organization.slug]: [expected] })
      }
    }
  })

  test('the restriction does not apply to the bearer of a system_admin, and applies to every other bearer', async () => {
    const organization = await buildOrganization(declared)
    const closed = await buildApp(declared)
    const app = await buildApp(declared, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const overrides = { role_code: 'org_admin', linked_app_codes: [closed.code] }
    const bodyFor = (user: Json) => ({
      email: user.email,
      password: 'correct horse battery staple',
      app_code: app.code,
      ...overrides,
    })
    const free = {
      apps: { [app.code]: 'active', [closed.code]: 'active' },
      organizations: { [organization.slug]: ['org_admin'] },
    }
    const bound = { apps: { [app.code]: 'active' }, organizations: { [organization.slug]: ['org_member'] } }

    const byAdmin = await newcomer(declared)
    expect((await declared.admin('POST', '/auth/login', { body: bodyFor(byAdmin) })).status).toBe(200)
    expect(await holdings(declared, byAdmin.id)).toEqual(free)
    const registered = await declared.admin('POST', '/auth/register', { body: bodyFor({ email: `new-${byAdmin.email}` }) })
    expect(await holdings(declared, registered.body.user.id)).toEqual(free)

    const someone = await buildUser(declared, app)
    for (const token of [undefined, 'a.b.c', someone.access_token]) {
      const user = await newcomer(declared)
      expect((await declared.call('POST', '/auth/login', { body: bodyFor(user), token })).status).toBe(200)
      expect(await holdings(declared, user.id)).toEqual(bound)
    }
  })
})

test('applied and refused overrides are audited once, with the request', async () => {
  const organization = await buildOrganization(service)
  const linked = await buildApp(service)
  const app = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
  const user = await newcomer(service)
  const overrides = { role_code: 'system_admin', linked_app_codes: [linked.code, 'authctl'] }
  const { headers } = await service.login(user.email, app.code, overrides)
  await service.login(user.email, app.code, overrides)
  const about = { user_id: user.id, app_id: app.id, request_id: headers.get('x-request-id') }
  const refused = await auditEvents(service, { event: 'override.refused', user_id: user.id })
  expect(refused).toMatchObject([
    { ...about, details: { linked_app_codes: ['authctl'] } },
    { ...about, details: { role_code: 'system_admin' } },
  ])
  expect(await auditEvents(service, { event: 'override.applied', user_id: user.id })).toMatchObject([
    { ...about, details: { linked_app_codes: [linked.code] } },
  ])
})
