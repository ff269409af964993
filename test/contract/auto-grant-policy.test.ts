// An auto-granting app admits every user of its pools, whichever app registered them, unless auto_grant_follows_policy is on.
import { describe, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { addMember, assignRole, buildInvitation, buildOrganization } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json, PASSWORD, someEmail, somePool } from '../support/service.ts'

const service = serviceFixture({ AUTH_CLIENT_OVERRIDES: 'declared' })
const insider = () => someEmail().replace(/@.*/, '@corp.example')
const restricted = { auto_grant_on_signup: true, allowed_email_domains: ['corp.example'] }
const strict = { ...restricted, auto_grant_follows_policy: true }

const appsOf = async ({ id }: Json): Promise<string[]> =>
  (await service.admin('GET', `/admin/users/${id}/apps`)).body.items.map((grant: Json) => grant.app_code)
const write = (app: Json, body: Json, query = '') => service.admin('PATCH', `/admin/apps/${app.code}${query}`, { body })

/** Registers through an open app of the pool of `app`. */
async function registerElsewhere(app: Json, email = someEmail()): Promise<Json> {
  const open = await buildApp(service, { registration_namespace: app.registration_namespace })
  return (await service.register(email, open.code)).body.user
}

describe('a user who registered through another app of the pool', () => {
  test('the user enters an auto-granting app, whatever its policy', async () => {
    for (const policy of [restricted, { ...restricted, sign_up: 'closed' }]) {
      const app = await buildApp(service, { ...policy, registration_namespace: somePool() })
      const user = await registerElsewhere(app)
      expect((await service.login(user.email, app.code)).status).toBe(200)
    }
  })

  test('the user is refused without a grant on every route if the automatic grant follows the policy', async () => {
    for (const policy of [
      strict,
      { ...strict, sign_up: 'closed' },
      { ...strict, sign_up: 'invitation', allowed_email_domains: [] },
    ]) {
      const app = await buildApp(service, { ...policy, registration_namespace: somePool() })
      const user = await registerElsewhere(app)
      expectError(await service.login(user.email, app.code), 'app_access_denied')
      const explained = (await service.admin('GET', `/admin/explain?user_id=${user.id}&app=${app.code}`)).body
      expect([explained.outcome, JSON.stringify(explained.steps)]).toEqual([
        'app_access_denied',
        expect.stringContaining('the app does not grant automatically to users whom its sign_up or allowed_email_domains'),
      ])
      expect(await appsOf(user)).toEqual([])
    }
  })

  test('the user keeps a grant when the policy becomes narrower, and gets none by register_or_login', async () => {
    const app = await buildApp(service, { ...strict, allowed_email_domains: [], registration_namespace: somePool() })
    const user = await registerElsewhere(app)
    const outsider = await registerElsewhere(app)
    expect((await service.login(user.email, app.code)).status).toBe(200)
    await write(app, { allowed_email_domains: ['*.example.com', 'corp.example'] })
    expect((await service.login(user.email, app.code)).status).toBe(200)
    await write(app, { allowed_email_domains: [], sign_up: 'invitation' })
    expectError(await service.login(outsider.email, app.code), 'app_access_denied')
    expectError(
      await service.call('POST', '/auth/register', {
        body: { email: outsider.email, password: PASSWORD, app_code: app.code, mode: 'register_or_login' },
      }),
      'app_access_denied',
    )
  })

  test('the user enters if the policy allows the address, or by an invitation to it', async () => {
    const app = await buildApp(service, { ...strict, registration_namespace: somePool() })
    const user = await registerElsewhere(app, insider())
    expect((await service.login(user.email, app.code)).status).toBe(200)

    const closed = await buildApp(service, {
      auto_grant_on_signup: true,
      auto_grant_follows_policy: true,
      sign_up: 'invitation',
      registration_namespace: somePool(),
    })
    const organization = await buildOrganization(service)
    const invited = someEmail()
    const token = await buildInvitation(service, { organizationId: organization.id, email: invited })
    const registered = await service.register(invited, closed.code, { invite_token: token })
    expect(registered).toMatchObject({ status: 201, body: { access: 'granted' } })
  })

  test('the user enters by using up an invitation, and not by one that stays unused because they are a member', async () => {
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      auto_grant_follows_policy: true,
      sign_up: 'invitation',
      registration_namespace: somePool(),
    })
    const organization = await buildOrganization(service)
    const token = await buildInvitation(service, { organizationId: organization.id })
    const [member, guest] = [await registerElsewhere(app), await registerElsewhere(app)]
    await addMember(service, organization.id, member.id, ['org_member'])
    const enter = ({ email }: Json) => service.register(email, app.code, { mode: 'register_or_login', invite_token: token })
    expectError(await enter(member), 'app_access_denied')
    expect(await appsOf(member)).toEqual([])
    expect((await enter(guest)).body).toMatchObject({ access: 'granted', organization: { id: organization.id } })
    expectError(await enter(await registerElsewhere(app)), 'invalid_invitation')
  })

  test('the user does not enter by the invitation of an org_admin who may not enter the app, such as their own', async () => {
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      auto_grant_follows_policy: true,
      sign_up: 'invitation',
      registration_namespace: somePool(),
    })
    const organization = await buildOrganization(service)
    const token = await buildInvitation(service, { organizationId: organization.id, by: 'org_admin' })
    const user = await registerElsewhere(app)
    const enter = () => service.register(user.email, app.code, { mode: 'register_or_login', invite_token: token })
    expectError(await enter(), 'app_access_denied')
    expect(await appsOf(user)).toEqual([])
    const { items } = (await service.admin('GET', `/admin/organizations/${organization.id}/invitations`)).body
    await service.admin('POST', `/admin/users/${items[0].invited_by}/apps/${app.code}`)
    expect((await enter()).body).toMatchObject({ access: 'granted', organization: { id: organization.id } })
  })

  test('the user enters at the first verified login only if an invitation registered them here', async () => {
    const app = await buildApp(service, {
      auto_grant_on_signup: true,
      auto_grant_follows_policy: true,
      require_verified_email: true,
      sign_up: 'invitation',
      registration_namespace: somePool(),
    })
    const organization = await buildOrganization(service)
    const token = await buildInvitation(service, { organizationId: organization.id })
    const email = someEmail()
    expect((await service.register(email, app.code, { invite_token: token })).body.access).toBe('unverified')
    const elsewhere = await registerElsewhere(app)
    const now = service.deps.clock()
    const proven = { email_verified_at: now, first_verified_at: now, mailbox_proven_at: now }
    await service.deps.db('users').whereIn('email', [email, elsewhere.email]).update(proven)
    expect((await service.login(email, app.code)).status).toBe(200)
    expectError(await service.login(elsewhere.email, app.code), 'app_access_denied')
  })

  test('the user cannot link such an app either, and may ask for access to it', async () => {
    const pool = somePool()
    const app = await buildApp(service, { ...strict, registration_namespace: pool })
    const through = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: pool })
    const link = { linked_app_codes: [app.code] }
    const [outsider, colleague] = [
      await buildUser(service, through, link),
      await buildUser(service, through, { ...link, email: insider() }),
    ]
    expect(await appsOf(outsider.user)).toEqual([through.code])
    expect((await appsOf(colleague.user)).sort()).toEqual([app.code, through.code].sort())
    const now = service.deps.clock()
    const proven = { email_verified_at: now, first_verified_at: now, mailbox_proven_at: now }
    await service.deps.db('users').where({ id: outsider.user.id }).update(proven)
    const asking = { email: outsider.user.email, password: PASSWORD, app_code: app.code }
    expect((await service.call('POST', '/auth/access-requests', { body: asking })).status).toBe(201)
  })

  test('the policy applies to a system_admin too', async () => {
    const app = await buildApp(service, { ...strict, registration_namespace: somePool() })
    const user = await registerElsewhere(app)
    await assignRole(service, user.id, 'system_admin')
    expectError(await service.login(user.email, app.code), 'app_access_denied')
  })
})

describe('a warning that the policy is bypassed', () => {
  const warningsOf = ({ body }: { body: Json }): [string, string[]][] =>
    (body.warnings ?? []).filter(({ code }: Json) => code === 'policy_bypassed').map(({ app, through }: Json) => [app, through])

  test('the warning is in the answer that creates, changes or shows the app, also in a dry run', async () => {
    const pool = somePool()
    const open = await buildApp(service, { registration_namespace: 'default', read_namespaces: [pool] })
    const body = { code: `restricted-${pool}`.replaceAll('_', '-'), name: 'R', ...restricted, registration_namespace: pool }
    const expected = [[body.code, [open.code]]]
    expect(warningsOf(await service.admin('POST', '/admin/apps?dry_run=true', { body }))).toEqual(expected)
    const created = await service.admin('POST', '/admin/apps', { body })
    expect(warningsOf(created)).toEqual(expected)
    expect(warningsOf(await service.admin('GET', `/admin/apps/${body.code}`))).toEqual(expected)
    const changes: [Json, unknown][] = [
      [{ name: 'Other' }, []],
      [{ auto_grant_follows_policy: true }, []],
      [{ auto_grant_follows_policy: false }, expected],
      [{ allowed_email_domains: [] }, []],
      [{ sign_up: 'invitation' }, expected],
      [{ auto_grant_on_signup: false }, []],
      [{ auto_grant_on_signup: true }, expected],
      [{ registration_namespace: somePool() }, []],
    ]
    for (const [change, warned] of changes) {
      const dry = await write(body, change, '?dry_run=true')
      const reply = await write(body, change)
      expect([reply.status, warningsOf(dry), warningsOf(reply)], JSON.stringify(change)).toEqual([200, warned, warned])
    }
  })

  test('the warning comes if another app opens the same pool more widely, and not if it admits no more users', async () => {
    const pool = somePool()
    const app = await buildApp(service, { ...restricted, registration_namespace: pool })
    const other = await buildApp(service, {
      ...restricted,
      registration_namespace: pool,
      sign_up: 'closed',
      auto_grant_on_signup: false,
    })
    expect(warningsOf(await write(other, { sign_up: 'open' }))).toEqual([])
    expect(warningsOf(await write(other, { allowed_email_domains: ['corp.example', '*.example'] }))).toEqual([
      [app.code, [other.code]],
    ])
    expect(warningsOf(await write(other, { status: 'inactive' }))).toEqual([])
    expect(warningsOf(await service.admin('GET', `/admin/apps/${app.code}`))).toEqual([])
  })
})
