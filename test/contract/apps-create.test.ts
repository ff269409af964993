import { beforeAll, describe, expect, test } from 'vitest'
import { productionSettings, whsec } from '../support/app-fixtures.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { buildOrganization, buildRole } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { ADMIN_EMAIL, buildService, claimsOf, type Reply, type TestService } from '../support/service.ts'

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

let next = 0

const service = serviceFixture()
const organization = fixture(() => buildOrganization(service))
beforeAll(async () => {
  await buildRole(service, 'org', [], 'billing')
  await buildRole(service, 'global', [], 'reviewer')
})

function freshCode(): string {
  next += 1
  return `created-${next}`
}

function create(fields: Record<string, unknown>, target = service): Promise<Reply> {
  return target.admin('POST', '/admin/apps', { body: { code: freshCode(), name: 'An app', ...fields } })
}

describe('a created app', () => {
  // covers service-app-registered app-id app-auto-grant-default app-created-at app-create-minimum app-create-answer app-description app-status
  test('an app needs only code and name, and the answer is the whole record', async () => {
    const reply = await service.admin('POST', '/admin/apps', { body: { code: 'shop', name: 'Shop' } })
    expect(reply.status).toBe(201)
    expectHeaders(reply)
    expect(reply.body).toEqual({
      id: expect.stringMatching(uuidV7),
      code: 'shop',
      name: 'Shop',
      description: null,
      status: 'active',
      allowed_redirect_urls: [],
      service_codes: ['shop'],
      auto_grant_on_signup: false,
      auto_grant_follows_policy: false,
      registration_namespace: 'default',
      read_namespaces: [],
      default_organization_id: null,
      default_role_code: null,
      linked_app_codes: [],
      override_role_codes: [],
      frontend_url: null,
      allowed_email_domains: [],
      allowed_auth_methods: [],
      webhooks: [],
      permission_scope: 'services',
      signing: 'shared',
      sign_up: 'open',
      organization_sign_up: true,
      require_verified_email: false,
      machine_tokens: false,
      single_sign_on: true,
      max_sign_in_age_seconds: null,
      trust_device_days: 0,
      client: 'public',
      device_grant: false,
      require_two_factor: 'off',
      require_two_factor_from: null,
      brand: {
        accent_color: null,
        support_email: null,
        support_url: null,
        terms_url: null,
        privacy_url: null,
        from_name: null,
        default_language: null,
      },
      logo_path: null,
      built_in: false,
      created_at: expect.stringMatching(isoTime),
      updated_at: expect.stringMatching(isoTime),
    })
    expect((await service.admin('GET', '/admin/apps/shop')).body).toEqual(reply.body)
  })

  // covers app-description app-auth-method-names webhook-events
  test('every field is stored as it was given', async () => {
    const fields = {
      name: 'Ünïcode “app” 💡',
      description: 'Line one\nline two\t<b>& "quotes" \\ %_',
      status: 'inactive',
      allowed_redirect_urls: [
        'https://app.example.com/cb',
        'https://app.example.com/x*',
        'com.example.app:/cb',
        'http://localhost:3000/cb',
      ],
      service_codes: ['billing', 'Search.v2', 'a:b_c'],
      auto_grant_on_signup: true,
      auto_grant_follows_policy: true,
      registration_namespace: 'staff_1',
      read_namespaces: ['default', 'partners-2'],
      default_organization_id: organization.id,
      default_role_code: 'billing',
      linked_app_codes: ['nobody-made-this'],
      override_role_codes: ['billing', 'org_admin'],
      frontend_url: 'https://app.example.com',
      allowed_email_domains: ['example.com', '*.corp.example'],
      allowed_auth_methods: ['password', 'magic_link', 'google'],
      webhooks: [{ name: 'crm', url: 'https://crm.example.com/hook', events: ['user.registered'], enabled: false }],
      permission_scope: 'roles',
      sign_up: 'invitation',
    }
    const { status, body } = await create(fields)
    expect(status).toBe(201)
    expect(body).toMatchObject({ ...fields, webhooks: [{ ...fields.webhooks[0], has_secret: false }] })
    expect((await service.admin('GET', `/admin/apps/${body.id}`)).body).toEqual(body)
  })

  test('a record that was read can create an app with another code', async () => {
    const { body } = await create({
      auto_grant_on_signup: true,
      webhooks: [{ name: 'crm', url: 'https://crm.example.com', secret: whsec }],
    })
    const { id, built_in, created_at, updated_at, ...copy } = body
    const reply = await create({ ...copy, code: freshCode() })
    expect(reply.status).toBe(201)
    expect(reply.body.webhooks).toEqual([{ ...body.webhooks[0], has_secret: false }])
  })

  test('repeated entries are kept once, in the given order', async () => {
    const { body } = await create({
      service_codes: ['b', 'a', 'b'],
      read_namespaces: ['y', 'x', 'y'],
      linked_app_codes: ['q', 'p', 'q'],
      override_role_codes: ['org_member', 'org_member'],
      allowed_email_domains: ['Example.COM', 'example.com', 'BÜCHER.example'],
      allowed_auth_methods: ['password', 'password'],
    })
    expect(body).toMatchObject({
      service_codes: ['b', 'a'],
      read_namespaces: ['y', 'x'],
      linked_app_codes: ['q', 'p'],
      override_role_codes: ['org_member'],
      allowed_email_domains: ['example.com', 'xn--bcher-kva.example'],
      allowed_auth_methods: ['password'],
    })
  })

  const optional = {
    description: null,
    allowed_redirect_urls: [],
    auto_grant_on_signup: false,
    auto_grant_follows_policy: false,
    registration_namespace: 'default',
    read_namespaces: [],
    default_organization_id: null,
    default_role_code: null,
    linked_app_codes: [],
    override_role_codes: [],
    frontend_url: null,
    allowed_email_domains: [],
    allowed_auth_methods: [],
    webhooks: [],
    permission_scope: 'services',
    sign_up: 'open',
  }
  // covers app-redirects-optional app-description
  test.each(Object.entries(optional))('%s: null and "" are the same as leaving the field out', async (field, unset) => {
    for (const value of [null, '']) {
      const { status, body } = await create({ [field]: value })
      expect(status).toBe(201)
      expect(body[field]).toEqual(unset)
    }
  })

  // covers app-services-default
  test('an empty list of services stays empty, and a missing one becomes the code of the app', async () => {
    expect((await create({ service_codes: [] })).body.service_codes).toEqual([])
    for (const value of [null, '', undefined]) {
      const { body } = await create({ service_codes: value })
      expect(body.service_codes).toEqual([body.code])
    }
  })

  test('services and linked apps are any strings, and a webhook may have no events', async () => {
    const codes = ['Ünits & Co', 'x'.repeat(200), 'a b', '*', '__proto__']
    const webhooks = [{ name: 'a', url: 'https://a.example', events: [] }]
    const { status, body } = await create({ service_codes: codes, linked_app_codes: codes, webhooks })
    expect(status).toBe(201)
    expect(body).toMatchObject({ service_codes: codes, linked_app_codes: codes, webhooks: [{ events: [] }] })
  })

  test('the audit shows who created the app, and the whole record', async () => {
    const { body, headers } = await create({ name: 'Audited' })
    const events = await service.deps.db('audit_events').where({ app_id: body.id })
    const admin = claimsOf((await service.login(ADMIN_EMAIL, 'authctl')).body.access_token)
    expect(events).toMatchObject([
      { event: 'app.created', actor_type: 'user', actor_id: admin.uid, request_id: headers.get('x-request-id') },
    ])
    expect(JSON.parse(events[0].details)).toEqual({ after: body })
  })
})

describe('app codes', () => {
  // covers app-code-format limit-app-code
  test.each(['a', '1', 'a-b-c', '0-0', 'x'.repeat(100), 'null', 'true', 'constructor', '12345678-1234-1234-1234-12345678901'])(
    '%s is a valid code',
    async (code) => {
      expect((await create({ code })).body.code).toBe(code)
    },
  )

  // covers app-code-format limit-app-code app-create-refusals
  test.each([
    ['', 'too_short'],
    ['x'.repeat(101), 'too_long'],
    ['App', 'invalid_value'],
    ['a_b', 'invalid_value'],
    ['-a', 'invalid_value'],
    ['a-', 'invalid_value'],
    ['a--b', 'invalid_value'],
    [' a', 'invalid_value'],
    ['a ', 'invalid_value'],
    ['a b', 'invalid_value'],
    ['a\n', 'invalid_value'],
    ['a/b', 'invalid_value'],
    ['a.b', 'invalid_value'],
    ['ä', 'invalid_value'],
    ['а', 'invalid_value'],
    ['ａ', 'invalid_value'],
    ['💡', 'invalid_value'],
    ['*', 'invalid_value'],
    ['12345678-1234-1234-1234-123456789012', 'invalid_value'],
    [null, 'invalid_type'],
    [5, 'invalid_type'],
    [['a'], 'invalid_type'],
  ])('%j is not a valid code', async (code, fault) => {
    const reply = await create({ code })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toContain(`code: ${fault}`)
  })

  test('a taken code is 409, whatever the status of its app', async () => {
    const { body } = await create({ status: 'inactive' })
    expectError(await create({ code: body.code }), 'app_code_taken')
    expectError(await create({ code: 'authctl' }), 'app_code_taken')
  })

  // covers app-code-unique service-app-registered
  test('one of twenty calls at once for one code creates the app, and nineteen are 409', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create({ code: 'contested', name: `Number ${index}` })),
    )
    const created = replies.filter((reply) => reply.status === 201)
    expect(created).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 201) expectError(reply, 'app_code_taken')
    const rows = await service.deps.db('apps').where({ code: 'contested' })
    expect(rows).toMatchObject([{ id: created[0]!.body.id, name: created[0]!.body.name }])
    // Nothing is left of those that failed.
    const events = await service.deps.db('audit_events').where({ event: 'app.created' }).whereLike('details', '%"contested"%')
    expect(events).toHaveLength(1)
  })

  test('the code of a deleted app is free again', async () => {
    const { body } = await create({})
    await service.admin('DELETE', `/admin/apps/${body.code}`)
    const again = await create({ code: body.code })
    expect(again.status).toBe(201)
    expect(again.body.id).not.toBe(body.id)
  })
})

describe('refused fields of a new app', () => {
  const hundreds = (entry: (index: number) => string) => Array.from({ length: 201 }, (_, index) => entry(index))
  const cases: [string, unknown, string][] = [
    ['name', undefined, 'name: required'],
    ['name', null, 'name: invalid_type'],
    ['name', '', 'name: too_short'],
    ['name', '  \n', 'name: too_short'],
    ['name', 'x'.repeat(201), 'name: too_long'],
    ['name', 5, 'name: invalid_type'],
    ['name', ['x'], 'name: invalid_type'],
    ['description', 'x'.repeat(2001), 'description: too_long'],
    ['description', 5, 'description: invalid_type'],
    ['status', 'deleted', 'status: invalid_value'],
    ['status', 'ACTIVE', 'status: invalid_value'],
    ['status', true, 'status: invalid_type'],
    ['auto_grant_on_signup', 'true', 'auto_grant_on_signup: invalid_type'],
    ['auto_grant_on_signup', 1, 'auto_grant_on_signup: invalid_type'],
    ['auto_grant_on_signup', 0, 'auto_grant_on_signup: invalid_type'],
    ['auto_grant_on_signup', [], 'auto_grant_on_signup: invalid_type'],
    ['registration_namespace', 'Staff', 'registration_namespace: invalid_value'],
    ['registration_namespace', 'a b', 'registration_namespace: invalid_value'],
    ['registration_namespace', 'ä', 'registration_namespace: invalid_value'],
    ['registration_namespace', 'a\n', 'registration_namespace: invalid_value'],
    ['registration_namespace', 'x'.repeat(101), 'registration_namespace: too_long'],
    ['registration_namespace', 5, 'registration_namespace: invalid_type'],
    ['read_namespaces', 'default', 'read_namespaces: invalid_type'],
    ['read_namespaces', { 0: 'default' }, 'read_namespaces: invalid_type'],
    ['read_namespaces', ['ok', 'Not'], 'read_namespaces.1: invalid_value'],
    ['read_namespaces', [null], 'read_namespaces.0: invalid_type'],
    ['read_namespaces', ['x'.repeat(101)], 'read_namespaces.0: too_long'],
    ['read_namespaces', hundreds((index) => `p${index}`), 'read_namespaces: too_long'],
    ['service_codes', ['ok', ''], 'service_codes.1: too_short'],
    ['service_codes', [' a'], 'service_codes.0: invalid_value'],
    ['service_codes', ['a\u2028b'], 'service_codes.0: invalid_value'],
    ['service_codes', ['x'.repeat(201)], 'service_codes.0: too_long'],
    ['service_codes', [5], 'service_codes.0: invalid_type'],
    ['service_codes', hundreds((index) => `s${index}`), 'service_codes: too_long'],
    ['linked_app_codes', ['a\u00a0'], 'linked_app_codes.0: invalid_value'],
    ['linked_app_codes', ['a\tb'], 'linked_app_codes.0: invalid_value'],
    ['linked_app_codes', [''], 'linked_app_codes.0: too_short'],
    ['status', null, 'status: invalid_type'],
    ['status', '', 'status: invalid_value'],
    ['linked_app_codes', [['a']], 'linked_app_codes.0: invalid_type'],
    ['linked_app_codes', hundreds((index) => `a${index}`), 'linked_app_codes: too_long'],
    ['override_role_codes', ['org_member', 'system_admin'], 'override_role_codes.1: invalid_value'],
    ['override_role_codes', ['reviewer'], 'override_role_codes.0: invalid_value'],
    ['override_role_codes', ['nothing'], 'override_role_codes.0: invalid_value'],
    ['default_organization_id', 'acme', 'default_organization_id: invalid_value'],
    ['default_organization_id', '00000000-0000-0000-0000-000000000000', 'default_organization_id: invalid_value'],
    ['default_organization_id', 5, 'default_organization_id: invalid_type'],
    ['frontend_url', 'app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', '//app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', '/relative', 'frontend_url: invalid_value'],
    ['frontend_url', 'javascript:alert(1)', 'frontend_url: invalid_value'],
    ['frontend_url', 'ftp://app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', 'data:text/html,x', 'frontend_url: invalid_value'],
    ['frontend_url', 'https:app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', 'https:///app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', 'https://', 'frontend_url: invalid_value'],
    ['frontend_url', 'https://user:pass@app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', 'https://app.example.com\\@evil.example', 'frontend_url: invalid_value'],
    ['frontend_url', ' https://app.example.com', 'frontend_url: invalid_value'],
    ['frontend_url', 'https://app.example.com/\r\nX: y', 'frontend_url: invalid_value'],
    ['frontend_url', 'https://app.example.com/\u0007', 'frontend_url: invalid_value'],
    ['frontend_url', `https://app.example.com/${'x'.repeat(2000)}`, 'frontend_url: too_long'],
    ['frontend_url', 5, 'frontend_url: invalid_type'],
    ['allowed_email_domains', ['not a domain'], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', ['@example.com'], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', ['*'], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', ['*.*.example.com'], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', ['*example.com'], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', ['example.com/evil'], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', [''], 'allowed_email_domains.0: invalid_value'],
    ['allowed_email_domains', [5], 'allowed_email_domains.0: invalid_type'],
    ['allowed_auth_methods', ['password', 'telepathy'], 'allowed_auth_methods.1: invalid_value'],
    ['allowed_auth_methods', ['password', 'otp'], 'allowed_auth_methods.1: invalid_value'],
    ['allowed_auth_methods', ['magic_link'], 'allowed_auth_methods: invalid_value'],
    ['allowed_auth_methods', [5], 'allowed_auth_methods.0: invalid_type'],
    ['permission_scope', 'all', 'permission_scope: invalid_value'],
    ['sign_up', 'yes', 'sign_up: invalid_value'],
    ['sign_up', false, 'sign_up: invalid_type'],
    ['id', '0190a0a0-0000-7000-8000-000000000000', 'id: unknown_field'],
    ['built_in', true, 'built_in: unknown_field'],
    ['created_at', '2020-01-01T00:00:00.000Z', 'created_at: unknown_field'],
    ['Name', 'x', 'Name: unknown_field'],
  ]
  // covers app-pool-names app-create-refusals limit-pool-name
  test.each(cases)('a new app with %s %j is refused', async (field, value, fault) => {
    const reply = await create({ [field]: value })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toContain(fault)
  })

  test('a description of 2,000 characters, a name of 200 and lists of 200 entries are accepted', async () => {
    const many = Array.from({ length: 200 }, (_, index) => `x${index}`)
    const fields = {
      name: 'n'.repeat(200),
      description: 'd'.repeat(2_000),
      service_codes: many,
      read_namespaces: many,
      linked_app_codes: many,
    }
    const { status, body } = await create(fields)
    expect(status).toBe(201)
    expect(body).toMatchObject(fields)
  })

  // covers app-name
  test('the answer names every fault at once', async () => {
    const reply = await service.admin('POST', '/admin/apps', {
      body: { code: 'A', status: 5, nope: 1, read_namespaces: ['A', 'b', 5] },
    })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual([
      'code: invalid_value',
      'name: required',
      'nope: unknown_field',
      'read_namespaces.0: invalid_value',
      'read_namespaces.2: invalid_type',
      'status: invalid_type',
    ])
  })

  // covers app-linked
  test('a link to authctl is stored like any other', async () => {
    const reply = await create({ linked_app_codes: ['other', 'authctl'] })
    expect(reply).toMatchObject({ status: 201, body: { linked_app_codes: ['other', 'authctl'] } })
  })
})

describe('default_role_code', () => {
  // covers app-default-role
  test('the default role is org_member if only the organization is set', async () => {
    expect((await create({ default_organization_id: organization.id })).body).toMatchObject({ default_role_code: 'org_member' })
  })

  test('the default role may be any org-scoped role if there is an organization', async () => {
    for (const role of ['org_member', 'org_admin', 'billing']) {
      const { status, body } = await create({ default_organization_id: organization.id, default_role_code: role })
      expect(status).toBe(201)
      expect(body.default_role_code).toBe(role)
    }
  })

  // covers app-role-needs-organization error-default-role
  test('a default role without an organization is 400', async () => {
    for (const organizationId of [undefined, null, '']) {
      const reply = await create({ default_organization_id: organizationId, default_role_code: 'org_member' })
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual(['default_role_code: invalid_value'])
    }
  })

  // covers app-role-exists app-role-org-scoped error-default-role app-create-refusals
  test.each([
    'no-such-role',
    'system_admin',
    'super_admin',
    'base_user',
    'reviewer',
    'ORG_MEMBER',
    'org_member ',
    '%',
    'org_member\n',
  ])('the default role %j, which is not org-scoped, is 400', async (role) => {
    const reply = await create({ default_organization_id: organization.id, default_role_code: role })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['default_role_code: invalid_value'])
  })

  test('the id of an organization is accepted in upper and lower case', async () => {
    const { body } = await create({ default_organization_id: organization.id.toUpperCase() })
    expect(body.default_organization_id).toBe(organization.id)
  })
})

describe('apps created in production mode', () => {
  let production: TestService
  beforeAll(async () => {
    production = await buildService({ ...productionSettings, AUTH_ADMIN_APP_CODES: '*' }, onFileEnd)
  })

  // covers app-redirects-production limit-redirects
  test.each([[undefined], [[]], [null], ['']])('allowed_redirect_urls %j is refused', async (urls) => {
    const reply = await create({ allowed_redirect_urls: urls }, production)
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['allowed_redirect_urls: required'])
  })

  // covers app-create-minimum
  test('one redirect URL is enough', async () => {
    expect((await create({ allowed_redirect_urls: ['https://app.example.com/cb'] }, production)).status).toBe(201)
  })
})
