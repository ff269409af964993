// What the scopes for administration open, and what they do not.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { listRoutes } from '../../packages/server/src/app.ts'
import { updateAppBody } from '../../packages/server/src/resources/apps/schema.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization, buildRole, registerPermissions } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { auditEvents, everyRow } from '../support/rows.ts'
import { buildApp, buildUser, type Json, PASSWORD, type Reply } from '../support/service.ts'

const service = serviceFixture({ AUTH_ADMIN_APP_CODES: 'authctl,console' })

async function buildAccount(scopes: string[], others: Json = {}): Promise<Json> {
  const body = { name: randomUUID(), service: 'nightly', scopes, ...others }
  const { status, body: account } = await service.admin('POST', '/admin/service-accounts', { body })
  expect(status).toBe(201)
  return account
}

describe('admin:read', () => {
  const read = (token: string) => service.call('GET', '/admin/apps', { token })

  test('the scope is off by default, needs no app, and opens reads from the next call on until it is removed', async () => {
    const { id, token, scopes } = await buildAccount([])
    expect(scopes).toEqual([])
    expectError(await read(token), 'system_admin_required')
    const give = (scopes: string[] | null) => service.admin('PATCH', `/admin/service-accounts/${id}`, { body: { scopes } })
    expect((await give(['admin:read'])).body.app_codes).toEqual([])
    expect((await read(token)).status).toBe(200)
    await give(null)
    expectError(await read(token), 'system_admin_required')
  })

  test('a refused call names the role or scope that it needs', async () => {
    const { token } = await buildAccount(['admin:read'])
    const write = await service.call('POST', '/admin/organizations', { token, body: { name: 'Acme' } })
    expectError(write, 'system_admin_required')
    expect(write.body.detail).toBe('admin:read may not do this. Needed: system_admin')
    const without = await read((await buildAccount(['permissions:register'])).token)
    expect(without.body.detail).toBe('Needed: system_admin, or auditor, or admin:read')
  })

  test('the scope gives no right at routes for users, and no right of another scope', async () => {
    const app = await buildApp(service, { machine_tokens: true })
    const { token } = await buildAccount(['admin:read'], { app_codes: [app.code] })
    const call = (method: string, path: string, body?: Json) => service.call(method, path, { token, body })
    expectError(await call('GET', '/auth/me'), 'token_invalid')
    expectError(await call('POST', '/auth/introspect', { token: 'anything' }), 'scope_required')
    expectError(await call('POST', '/auth/token', { grant_type: 'client_credentials', app_code: app.code }), 'scope_required')
    expectError(await call('POST', '/admin/permissions/register', { service: 'nightly', permissions: [] }), 'scope_required')
    const user = { email: 'a@example.com', password: PASSWORD, app_code: app.code, mode: 'register_or_return' }
    expectError(await call('POST', '/auth/register', user), 'scope_required')
  })

  test('an export of a user is audited with the service account', async () => {
    const { id, token } = await buildAccount(['admin:read'])
    const { user } = await buildUser(service, await buildApp(service))
    expect((await service.call('GET', `/admin/users/${user.id}/export`, { token })).status).toBe(200)
    const [event] = await auditEvents(service, { event: 'user.exported', user_id: user.id })
    expect(event).toMatchObject({ actor_type: 'service_account', actor_id: id })
  })

  test('no GET under /admin shows a secret', async () => {
    const secret = `whsec_${Buffer.from('canary of a webhook, never to be seen').toString('base64')}`
    const webhooks = [{ name: 'crm', url: 'https://crm.example.com/hook', secret }]
    const app = await buildApp(service, { client: 'confidential', webhooks, auto_grant_on_signup: true })
    const given = async (path: string, body: Json = {}) => {
      const { status, body: made } = await service.admin('POST', path, { body })
      expect(status, path).toBeLessThan(300)
      return made
    }
    const provider = {
      code: `p-${randomUUID()}`,
      issuer: 'https://id.example.com',
      client_id: 'us',
      client_secret: 'canary of a provider',
    }
    await given('/admin/sso-providers', { ...provider, enabled: false })
    const client = await given(`/admin/apps/${app.id}/client-secrets`, { name: 'backend' })
    await given(`/admin/apps/${app.id}/signing`, { step: 'prepare' })
    const { id: organizationId } = await buildOrganization(service)
    const invitation = await buildInvitation(service, { organizationId, email: 'guest@example.com' })
    const open = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token, refresh_token } = await buildUser(service, open)
    const { body: setup } = await service.call('POST', '/auth/2fa/setup', { token: access_token })
    await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: open.code } })
    await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: open.code } })
    const reader = await buildAccount(['admin:read'])
    const { token } = reader
    const mails: string[] = (await service.deps.db('mail_tokens').pluck('token_hash')).map(String)
    const hashes: string[] = await service.deps.db('users').whereNotNull('password_hash').pluck('password_hash')
    const accountHashes: string[] = await service.deps.db('service_accounts').pluck('token_hash')
    const secrets = [
      secret,
      'canary of a provider',
      client.secret,
      invitation,
      access_token,
      refresh_token,
      setup.secret,
      ...(setup.recovery_codes ?? []),
      token,
      ...mails,
      ...hashes,
      ...accountHashes,
    ]
    expect(secrets.map((each) => typeof each)).toEqual(secrets.map(() => 'string'))
    const named: Json = {
      appId: app.id,
      userId: user.id,
      organizationId,
      roleCode: 'org_admin',
      providerCode: provider.code,
      mail: 'password_reset',
      mailId: (await service.admin('GET', '/admin/mails')).body.items[0].id,
      id: (await service.admin('GET', '/admin/audit')).body.items[0].id,
    }
    const seen: Record<string, number> = {}
    for (const { method, path, auth } of listRoutes()) {
      if (method !== 'GET' || !path.startsWith('/admin/') || auth === 'system_admin_reader') continue
      const queries: Json = { '/admin/explain': `user_id=${user.id}`, '/admin/audit/archive': 'before=2000-01-01' }
      const at = path.replace(/\{(\w+)\}/g, (_, name) => named[name])
      const { status, body } = await service.call('GET', `${at}?${queries[path] ?? ''}`, {
        token,
      })
      seen[path] = status
      const text = JSON.stringify(body) ?? ''
      for (const each of secrets) expect(text, `${path} shows ${each}`).not.toContain(each)
      expect(text, path).not.toMatch(/\$2[aby]\$\d\d\$/)
    }
    expect(Object.entries(seen).filter(([path, status]) => status !== 200 && path !== '/admin/apps/{appId}/logo')).toEqual([])
  })
})

describe('admin:configure', () => {
  const acting = fixture(async () => ({ token: (await buildAccount(['admin:read', 'admin:configure'])).token as string }))
  const send = (method: string, path: string, body?: Json) => service.call(method, `/admin${path}`, { token: acting.token, body })

  function expectBeyond(reply: Reply, what: string): void {
    expectError(reply, 'system_admin_required')
    expect(reply.body.detail).toBe(`admin:configure does not cover ${what}`)
  }

  test('the scope changes what people see of an app, makes its rules stricter, and is audited as the account', async () => {
    const app = await buildApp(service)
    const changes = {
      name: 'Shop',
      description: 'Where people buy',
      brand: { accent_color: '#2f6fde', from_name: 'The shop', default_language: 'de' },
      sign_up: 'invitation',
      organization_sign_up: false,
      require_verified_email: true,
      permission_scope: 'roles',
    }
    const reply = await send('PATCH', `/apps/${app.id}`, changes)
    expect(reply).toMatchObject({ status: 200, body: changes })
    // A record that was read can be sent back whole.
    const { warnings: _, ...record } = reply.body
    expect((await send('PATCH', `/apps/${app.id}`, { ...record, sign_up: 'closed' })).status).toBe(200)
    const [event] = await auditEvents(service, { event: 'app.updated', app_id: app.id })
    expect(event.actor_type).toBe('service_account')
    for (const [field, looser] of [
      ['sign_up', 'open'],
      ['organization_sign_up', true],
      ['require_verified_email', false],
      ['permission_scope', 'services'],
    ] as const)
      expectBeyond(await send('PATCH', `/apps/${app.id}`, { [field]: looser }), `these settings of an app: ${field}`)
  })

  /** A value that differs from that of a new app, for each setting that would lead to more. */
  const further: Record<string, () => unknown> = {
    status: () => 'inactive',
    allowed_redirect_urls: () => ['https://evil.example.com/cb'],
    service_codes: () => ['billing'],
    auto_grant_on_signup: () => true,
    auto_grant_follows_policy: () => true,
    registration_namespace: () => 'staff',
    read_namespaces: () => ['staff'],
    default_organization_id: () => organizationId,
    linked_app_codes: () => ['billing'],
    override_role_codes: () => ['org_admin'],
    frontend_url: () => 'https://evil.example.com',
    allowed_email_domains: () => ['evil.example.com'],
    allowed_auth_methods: () => ['password', 'google'],
    webhooks: () => [{ name: 'crm', url: 'https://evil.example.com/hook' }],
    machine_tokens: () => true,
    single_sign_on: () => false,
    max_sign_in_age_seconds: () => 60,
    trust_device_days: () => 30,
    client: () => 'confidential',
    device_grant: () => true,
    require_two_factor: () => 'everyone',
    require_two_factor_from: () => '2027-01-31T00:00:00Z',
  }
  let organizationId: string
  beforeAll(async () => {
    organizationId = (await buildOrganization(service)).id
  })

  test('every setting of an app is listed as allowed or as beyond the scope', () => {
    const allowed = [
      'name',
      'description',
      'brand',
      'sign_up',
      'organization_sign_up',
      'require_verified_email',
      'permission_scope',
    ]
    const settings = Object.keys(updateAppBody.shape)
    // The role belongs to the organization.
    expect([...allowed, ...Object.keys(further), 'default_role_code'].sort()).toEqual(settings.sort())
  })

  test.each(Object.keys(further))(
    'the scope changes %s of no app, alone or with allowed settings, and creates no app with it',
    async (field) => {
      const app = await buildApp(service)
      const value = further[field]!()
      for (const body of [{ [field]: value }, { name: 'Another', [field]: value }]) {
        for (const query of ['', '?dry_run=true']) {
          const reply = await send('PATCH', `/apps/${app.code}${query}`, body)
          expectError(reply, 'system_admin_required')
          expect(reply.body.detail).toMatch(
            new RegExp(`^admin:configure does not cover these settings of an app: (.*, )?${field}`),
          )
        }
      }
      expect((await service.admin('GET', `/admin/apps/${app.id}`)).body).toEqual(app)
      const code = `new-${randomUUID()}`
      if (field !== 'status')
        expectError(
          await send('POST', '/apps', { code, name: 'New', status: 'inactive', [field]: value }),
          'system_admin_required',
        )
      expectError(await service.admin('GET', `/admin/apps/${code}`), 'not_found')
    },
  )

  test.each(['support_email', 'support_url', 'terms_url', 'privacy_url'])(
    'the scope cannot change %s of the brand to lead people elsewhere',
    async (member) => {
      const app = await buildApp(service)
      const value = member === 'support_email' ? 'help@evil.example.com' : 'https://evil.example.com'
      expectBeyond(
        await send('PATCH', `/apps/${app.id}`, { brand: { [member]: value } }),
        `these settings of an app: brand.${member}`,
      )
    },
  )

  test('the scope creates apps only as inactive, and neither creates nor changes one that administers', async () => {
    const code = `new-${randomUUID()}`
    expectBeyond(await send('POST', '/apps', { code, name: 'New' }), 'these settings of an app: status')
    expect((await send('POST', '/apps', { code, name: 'New', status: 'inactive' })).body).toMatchObject({
      code,
      status: 'inactive',
    })
    expectBeyond(await send('PATCH', `/apps/${code}`, { status: 'active' }), 'these settings of an app: status')
    expectBeyond(await send('PATCH', '/apps/authctl', { name: 'Mine' }), 'apps that administer the service')
    expectBeyond(
      await send('POST', '/apps', { code: 'console', name: 'Console', status: 'inactive' }),
      'apps that administer the service',
    )
  })

  test('the scope creates an organization role and gives it permissions', async () => {
    await registerPermissions(service, 'orders', ['orders:read', 'orders:refund'])
    const code = `role-${randomUUID()}`
    expect((await send('POST', '/roles', { code, name: 'Support', scope: 'org' })).status).toBe(201)
    expect((await send('PATCH', `/roles/${code}`, { name: 'The support' })).body.name).toBe('The support')
    const path = `/roles/${code}/permissions`
    expect((await send('PUT', path, { permissions: ['orders:read'] })).body.items).toMatchObject([{ code: 'orders:read' }])
    expect((await send('POST', path, { permissions: ['orders:refund'] })).body.items).toHaveLength(2)
    expectError(await send('DELETE', `${path}/orders:refund`), 'system_admin_required')
    expectError(await send('DELETE', `/roles/${code}`), 'system_admin_required')
  })

  test('the scope changes only organization roles that are not built in and that no org_admin and no app gives', async () => {
    await registerPermissions(service, 'orders', ['orders:read', 'orders:refund'])
    const byOrgAdmins = await buildRole(service, 'org')
    await service.admin('PATCH', `/admin/roles/${byOrgAdmins}`, { body: { assignable_by: 'org_admin' } })
    const [listed, byDefault, own] = [
      await buildRole(service, 'org'),
      await buildRole(service, 'org'),
      await buildRole(service, 'org'),
    ]
    await buildApp(service, { override_role_codes: [listed] })
    await buildApp(service, { default_organization_id: organizationId, default_role_code: byDefault })
    const refused: Record<string, string> = {
      base_user: 'global roles',
      system_admin: 'global roles',
      super_admin: 'global roles',
      auditor: 'global roles',
      [await buildRole(service, 'global')]: 'global roles',
      org_member: 'built-in roles',
      org_admin: 'built-in roles',
      [byOrgAdmins]: 'roles that an org_admin gives (assignable_by)',
      [listed]: 'roles that an app names (default_role_code, override_role_codes)',
      [byDefault]: 'roles that an app names (default_role_code, override_role_codes)',
    }
    const { audit_events: _, service_accounts: __, ...before } = await everyRow(service)
    for (const [code, what] of Object.entries(refused)) {
      expectBeyond(await send('PATCH', `/roles/${code}`, { name: 'Mine' }), what)
      for (const method of ['PUT', 'POST'])
        expectBeyond(await send(method, `/roles/${code}/permissions`, { permissions: ['orders:refund'] }), what)
    }
    expectBeyond(
      await send('PATCH', `/roles/${own}`, { assignable_by: 'org_admin' }),
      'roles that an org_admin gives (assignable_by)',
    )
    for (const [members, what] of [
      [{ scope: 'global' }, 'global roles'],
      [{ scope: 'org', assignable_by: 'org_admin' }, 'roles that an org_admin gives (assignable_by)'],
    ] as const)
      expectBeyond(await send('POST', '/roles', { code: `role-${randomUUID()}`, name: 'Mine', ...members }), what)
    const { audit_events: ___, service_accounts: ____, ...after } = await everyRow(service)
    expect(after).toEqual(before)
  })

  test('removing the scope refuses the next call, and the scope alone opens no reads', async () => {
    const { id, token } = await buildAccount(['admin:configure'])
    const app = await buildApp(service)
    const rename = () => service.call('PATCH', `/admin/apps/${app.id}`, { token, body: { name: 'Another' } })
    expect((await rename()).status).toBe(200)
    expectError(await service.call('GET', `/admin/apps/${app.id}`, { token }), 'system_admin_required')
    await service.admin('PATCH', `/admin/service-accounts/${id}`, { body: { scopes: ['admin:read'] } })
    expectError(await rename(), 'system_admin_required')
  })
})
