import { beforeAll, describe, expect, test } from 'vitest'
import { productionSettings } from '../support/app-fixtures.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { buildOrganization, buildRole } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildApp, buildService, buildUser, type Json, type Reply, type TestService } from '../support/service.ts'

const service = serviceFixture()
const organization = fixture(() => buildOrganization(service))
beforeAll(async () => {
  await buildRole(service, 'org', [], 'billing')
  await buildRole(service, 'global', [], 'reviewer')
})

function patch(app: { code: string }, body: unknown, target = service): Promise<Reply> {
  return target.admin('PATCH', `/admin/apps/${app.code}`, { body })
}

async function read(app: { code: string }): Promise<Json> {
  return (await service.admin('GET', `/admin/apps/${app.code}`)).body
}

/** A value that a field can be set to, and its value when cleared. */
const brand = {
  accent_color: '#2f6fde',
  support_email: 'help@shop.example.com',
  support_url: 'https://shop.example.com/help',
  terms_url: 'https://shop.example.com/terms',
  privacy_url: 'https://shop.example.com/privacy',
  from_name: 'Café Zürich & Söhne',
  default_language: 'de',
}
const noBrand = Object.fromEntries(Object.keys(brand).map((member) => [member, null]))

const fields: Record<string, { value: unknown; cleared: unknown }> = {
  description: { value: 'Text', cleared: null },
  allowed_redirect_urls: { value: ['https://app.example.com/cb'], cleared: [] },
  auto_grant_on_signup: { value: true, cleared: false },
  auto_grant_follows_policy: { value: true, cleared: false },
  registration_namespace: { value: 'staff', cleared: 'default' },
  read_namespaces: { value: ['staff', 'partners'], cleared: [] },
  linked_app_codes: { value: ['other'], cleared: [] },
  override_role_codes: { value: ['org_admin'], cleared: [] },
  frontend_url: { value: 'https://app.example.com', cleared: null },
  allowed_email_domains: { value: ['example.com'], cleared: [] },
  allowed_auth_methods: { value: ['google'], cleared: [] },
  webhooks: {
    value: [{ name: 'a', url: 'https://a.example', events: ['user.registered'], enabled: true, has_secret: false }],
    cleared: [],
  },
  permission_scope: { value: 'roles', cleared: 'services' },
  sign_up: { value: 'closed', cleared: 'open' },
  organization_sign_up: { value: false, cleared: true },
  require_verified_email: { value: true, cleared: false },
  machine_tokens: { value: true, cleared: false },
  single_sign_on: { value: false, cleared: true },
  max_sign_in_age_seconds: { value: 3_600, cleared: null },
  trust_device_days: { value: 30, cleared: 0 },
  client: { value: 'confidential', cleared: 'public' },
  device_grant: { value: true, cleared: false },
  require_two_factor: { value: 'everyone', cleared: 'off' },
  require_two_factor_from: { value: '2027-01-31T00:00:00.000Z', cleared: null },
  brand: { value: brand, cleared: noBrand },
}

describe('a change of an app', () => {
  // covers app-frontend-url-clear app-update-fields app-update-clear app-policy-update
  test.each(Object.entries(fields))(
    'a change of %s changes only that field, and null and "" clear it',
    async (field, { value, cleared }) => {
      const before = await buildApp(service)
      service.advance(1)
      const reply = await patch(before, { [field]: value })
      expect(reply.status).toBe(200)
      expectHeaders(reply)
      expect(reply.body).toEqual({ ...before, [field]: value, updated_at: expect.any(String) })
      expect(reply.body.updated_at > before.updated_at).toBe(true)
      expect(await read(before)).toEqual(reply.body)
      for (const blank of [null, '']) {
        await patch(before, { [field]: value })
        expect((await patch(before, { [field]: blank })).body[field]).toEqual(cleared)
      }
      if (Array.isArray(cleared)) {
        await patch(before, { [field]: value })
        expect((await patch(before, { [field]: [] })).body[field]).toEqual([])
      }
    },
  )

  test('a change of allowed_auth_methods must leave a method that can register a user', async () => {
    const app = await buildApp(service, { allowed_auth_methods: ['password', 'magic_link'] })
    for (const [methods, fault] of [
      [['magic_link'], 'allowed_auth_methods: invalid_value'],
      [['passkey'], 'allowed_auth_methods: invalid_value'],
      [['otp', 'password'], 'allowed_auth_methods.0: invalid_value'],
    ]) {
      const reply = await patch(app, { allowed_auth_methods: methods })
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual([fault])
    }
    expect(await read(app)).toEqual(app)
  })

  test('a change may send back methods that an earlier version accepted', async () => {
    const app = await buildApp(service)
    await service.deps.db('apps').where({ id: app.id }).update({ allowed_auth_methods: '["passkey"]' })
    const { status, body } = await patch(app, { ...(await read(app)), name: 'Other' })
    expect([status, body.name, body.allowed_auth_methods]).toEqual([200, 'Other', ['passkey']])
  })

  // covers app-update-fields
  test('a change reaches every field of a record except its code and those that the service sets', async () => {
    const judgedBelow = ['name', 'status', 'service_codes', 'default_organization_id', 'default_role_code']
    const fixed = ['id', 'code', 'built_in', 'signing', 'logo_path', 'created_at', 'updated_at']
    expect(Object.keys(await buildApp(service)).sort()).toEqual([...Object.keys(fields), ...judgedBelow, ...fixed].sort())
  })

  // covers app-update-fields
  test('cleared service_codes become the code of the app, and an empty list stays empty', async () => {
    const app = await buildApp(service, { service_codes: ['a'] })
    expect((await patch(app, { service_codes: [] })).body.service_codes).toEqual([])
    for (const blank of [null, '']) expect((await patch(app, { service_codes: blank })).body.service_codes).toEqual([app.code])
  })

  // covers app-update-fields
  test('a change sets name and status, and refuses invalid ones', async () => {
    const app = await buildApp(service)
    expect((await patch(app, { name: '  Other  ', status: 'inactive' })).body).toMatchObject({
      name: 'Other',
      status: 'inactive',
    })
    expect((await patch(app, { status: 'active' })).body).toMatchObject({ name: 'Other', status: 'active' })
    for (const body of [{ name: '' }, { name: null }, { name: ' ' }, { status: 'gone' }, { status: 1 }])
      expectError(await patch(app, body), 'validation_failed')
  })

  test.each([
    ['status', null, 'invalid_type'],
    ['status', '', 'invalid_value'],
    ['name', null, 'invalid_type'],
    ['name', '', 'too_short'],
  ])('a change of %s to %j is 400 and changes nothing: an inactive app stays inactive', async (field, blank, code) => {
    const app = await buildApp(service)
    const inactive = (await patch(app, { status: 'inactive' })).body
    const reply = await patch(app, { description: 'Text', [field]: blank })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual([`${field}: ${code}`])
    expect(await read(app)).toEqual(inactive)
  })

  test('an empty change changes nothing, also without a body', async () => {
    const app = await buildApp(service)
    service.advance(1)
    expect((await patch(app, {})).body).toEqual(app)
    const reply = await service.admin('PATCH', `/admin/apps/${app.id}`)
    expect(reply.status).toBe(200)
    expect(reply.body).toEqual(app)
    expect(await service.deps.db('audit_events').where({ app_id: app.id, event: 'app.updated' })).toEqual([])
  })

  test('a change accepts a record as it was read, and refuses other values for fields that the service sets', async () => {
    const app = await buildApp(service, {
      default_organization_id: organization.id,
      webhooks: [{ name: 'a', url: 'https://a.example' }],
    })
    expect((await patch(app, app)).body).toEqual({ ...app, updated_at: expect.any(String) })
    const reply = await patch(app, { ...app, id: organization.id, built_in: true, created_at: null, updated_at: null })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['built_in: invalid_value', 'created_at: invalid_value', 'id: invalid_value'])
  })

  test('a change that is refused for one field changes no field', async () => {
    const app = await buildApp(service)
    expectError(await patch(app, { name: 'Other', read_namespaces: ['Not'] }), 'validation_failed')
    expectError(await patch(app, { name: 'Other', default_role_code: 'org_member' }), 'validation_failed')
    expect(await read(app)).toEqual(app)
  })

  test('a change names the app by UUID or by code, and an unknown app is 404', async () => {
    const app = await buildApp(service)
    expect((await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { description: 'x' } })).body.code).toBe(app.code)
    expectError(await patch({ code: 'no-such-app' }, { description: 'x' }), 'not_found')
    expectError(await patch({ code: organization.id }, { description: 'x' }), 'not_found')
  })

  test('a change is audited with the old and new values and nothing else', async () => {
    const app = await buildApp(service)
    const { headers } = await patch(app, { name: 'Renamed', sign_up: 'closed', description: null })
    const [event] = await service.deps.db('audit_events').where({ app_id: app.id, event: 'app.updated' })
    expect(event.request_id).toBe(headers.get('x-request-id'))
    const { before, after } = JSON.parse(event.details)
    expect(before).toMatchObject({ name: app.name, sign_up: 'open' })
    expect(after).toMatchObject({ name: 'Renamed', sign_up: 'closed' })
    expect(
      Object.keys(after)
        .filter((field) => field !== 'updated_at')
        .sort(),
    ).toEqual(['name', 'sign_up'])
  })
})

// covers app-code-immutable service-app-registered app-update-fields
test('the code never changes: 400 code_immutable', async () => {
  const app = await buildApp(service)
  for (const code of ['other', null, '', 5]) expectError(await patch(app, { code, name: 'x' }), 'code_immutable')
  expect(await read(app)).toEqual(app)
})

describe('frontend_url', () => {
  test.each([
    ['https://app.example.com/', 'https://app.example.com'],
    ['https://app.example.com/base/', 'https://app.example.com/base'],
    ['http://localhost:3000/', 'http://localhost:3000'],
    ['HTTPS://App.Example.com', 'HTTPS://App.Example.com'],
    ['https://bücher.example', 'https://bücher.example'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
  ])('the frontend_url %s is stored as %s', async (given, kept) => {
    const app = await buildApp(service)
    expect((await patch(app, { frontend_url: given })).body.frontend_url).toBe(kept)
  })
})

describe('changes of default_organization_id and default_role_code', () => {
  const roleFault = ['default_role_code: invalid_value']

  // covers app-role-needs-organization app-update-role
  test('a role without an organization is 400', async () => {
    const app = await buildApp(service)
    const reply = await patch(app, { default_role_code: 'billing' })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(roleFault)
    expect((await patch(app, { default_role_code: 'billing', default_organization_id: organization.id })).body).toMatchObject({
      default_role_code: 'billing',
    })
  })

  // covers app-update-fields
  test('a role can be added to the organization that is set', async () => {
    const app = await buildApp(service, { default_organization_id: organization.id })
    expect(app.default_role_code).toBe('org_member')
    expect((await patch(app, { default_role_code: 'billing' })).body.default_role_code).toBe('billing')
    expect((await patch(app, { default_role_code: null })).body).toMatchObject({
      default_role_code: 'org_member',
      default_organization_id: organization.id,
    })
  })

  // covers app-default-organization-clear app-update-clear
  test.each([null, ''])('clearing the organization with %j clears the role for good', async (blank) => {
    const app = await buildApp(service, { default_organization_id: organization.id, default_role_code: 'billing' })
    expect((await patch(app, { default_organization_id: blank })).body).toMatchObject({
      default_organization_id: null,
      default_role_code: null,
    })
    expect((await patch(app, { default_organization_id: organization.id })).body.default_role_code).toBe('org_member')
  })

  test('the organization cannot be cleared while a role is set', async () => {
    const app = await buildApp(service, { default_organization_id: organization.id, default_role_code: 'billing' })
    const reply = await patch(app, { default_organization_id: null, default_role_code: 'org_admin' })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(roleFault)
    expect(await read(app)).toEqual(app)
  })

  // covers app-role-exists app-role-org-scoped app-update-role error-default-role
  test.each(['system_admin', 'super_admin', 'base_user', 'reviewer', 'no-such-role'])(
    'the role %s, which is not org-scoped, is 400',
    async (role) => {
      const app = await buildApp(service, { default_organization_id: organization.id })
      const reply = await patch(app, { default_role_code: role })
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual(roleFault)
    },
  )

  test('an unknown organization is 400', async () => {
    const app = await buildApp(service)
    const reply = await patch(app, { default_organization_id: app.id })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['default_organization_id: invalid_value'])
  })
})

describe('changes at the same time', () => {
  test('two changes of different fields both take effect, twenty times', async () => {
    const app = await buildApp(service)
    for (let round = 0; round < 20; round += 1) {
      const replies = await Promise.all([
        patch(app, { description: `d${round}` }),
        patch(app, { webhooks: [{ name: `w${round}`, url: 'https://a.example' }] }),
        patch(app, { read_namespaces: [`p${round}`] }),
        patch({ code: app.id }, { frontend_url: `https://${round}.example` }),
      ])
      expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 200])
      expect(await read(app)).toMatchObject({
        description: `d${round}`,
        webhooks: [{ name: `w${round}` }],
        read_namespaces: [`p${round}`],
        frontend_url: `https://${round}.example`,
      })
    }
  })

  test('a new role and the clearing of its organization never leave a role without one', async () => {
    const app = await buildApp(service)
    for (let round = 0; round < 10; round += 1) {
      await patch(app, { default_organization_id: organization.id, default_role_code: null })
      await Promise.all([patch(app, { default_role_code: 'billing' }), patch(app, { default_organization_id: null })])
      const row = await service.deps.db('apps').where({ id: app.id }).first()
      if (row.default_organization_id === null) expect(row.default_role_code).toBeNull()
    }
  })

  test('a change and a deletion each happen whole or not at all', async () => {
    for (let round = 0; round < 5; round += 1) {
      const app = await buildApp(service)
      const [changed, deleted] = await Promise.all([
        patch(app, { name: 'x' }),
        service.admin('DELETE', `/admin/apps/${app.code}`),
      ])
      expect([200, 404]).toContain(changed.status)
      expect(deleted.status).toBe(204)
      expectError(await patch(app, { name: 'y' }), 'not_found')
    }
  })
})

describe('the built-in app authctl', () => {
  test.each([
    { status: 'inactive' },
    { auto_grant_on_signup: true },
    { sign_up: 'open' },
    { sign_up: 'invitation' },
    { sign_up: null },
  ])('the change %j is 409 built_in', async (body) => {
    expectError(await patch({ code: 'authctl' }, body), 'built_in')
  })

  test('authctl accepts harmless changes', async () => {
    const before = await read({ code: 'authctl' })
    expect(before).toMatchObject({ built_in: true, status: 'active', auto_grant_on_signup: false, sign_up: 'closed' })
    expect((await patch(before, { description: 'Ours', status: 'active' })).body).toMatchObject({ description: 'Ours' })
    expectError(await patch(before, { code: 'ours' }), 'code_immutable')
  })

  test('authctl may be a linked app, and users still get no grant for it', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const reply = await patch(app, { linked_app_codes: ['authctl'] })
    expect(reply).toMatchObject({ status: 200, body: { linked_app_codes: ['authctl'] } })
    const { user } = await buildUser(service, app)
    const { body } = await service.admin('GET', `/admin/users/${user.id}/apps`)
    expect(body.items.map((grant: Json) => grant.app_code)).toEqual([app.code])
  })
})

describe('apps changed in production mode', () => {
  let production: TestService
  beforeAll(async () => {
    production = await buildService(productionSettings, onFileEnd)
  })

  /** An app as if it was created outside of production: without redirect URLs. */
  async function buildBareApp(): Promise<Json> {
    const app = await buildApp(production, { allowed_redirect_urls: ['https://app.example.com/cb'] })
    await production.deps.db('apps').where({ id: app.id }).update({ allowed_redirect_urls: '[]' })
    return app
  }

  // covers limit-redirects app-redirects-production
  test('redirect URLs cannot be emptied', async () => {
    const app = await buildApp(production, { allowed_redirect_urls: ['https://app.example.com/cb'] })
    for (const urls of [[], null, '']) {
      const reply = await patch(app, { allowed_redirect_urls: urls }, production)
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual(['allowed_redirect_urls: required'])
    }
    expect((await patch(app, { name: 'Fine' }, production)).body).toMatchObject({
      name: 'Fine',
      allowed_redirect_urls: ['https://app.example.com/cb'],
    })
  })

  test('an app without redirect URLs can be renamed and deactivated, and is activated only with some', async () => {
    const app = await buildBareApp()
    expect((await patch(app, { name: 'Renamed' }, production)).body).toMatchObject({ name: 'Renamed', status: 'active' })
    expect((await patch(app, { status: 'inactive' }, production)).body).toMatchObject({ status: 'inactive' })
    for (const body of [{ status: 'active' }, { status: 'active', allowed_redirect_urls: [] }, { allowed_redirect_urls: [] }]) {
      const reply = await patch(app, body, production)
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual(['allowed_redirect_urls: required'])
    }
    const mended = { status: 'active', allowed_redirect_urls: ['https://app.example.com/cb'] }
    expect((await patch(app, mended, production)).body).toMatchObject({ name: 'Renamed', ...mended })
  })

  test('authctl, which redirects nobody, needs no redirect URLs', async () => {
    expect((await patch({ code: 'authctl' }, { description: 'x' }, production)).status).toBe(200)
  })
})
