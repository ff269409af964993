// A dry run of any admin write returns what the call would return, and changes and sends nothing.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { rehearsal, transaction } from '../../packages/server/src/db/transaction.ts'
import type { Route } from '../../packages/server/src/http/route.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import {
  addMember,
  assignRole,
  buildInvitation,
  buildOrganization,
  buildRole,
  registerPermissions,
} from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { buildPng } from '../support/images.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { auditEvents, everyRow, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, callHttp, claimsOf, type Json, PASSWORD, someEmail, somePool, unique } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture()
const app = appFixture(service)
const organization = fixture(() => buildOrganization(service))
const permission = fixture(async () => {
  await registerPermissions(service, 'notes', ['notes:read', 'notes:write'])
  return { code: 'notes:read' }
})

const newUser = async (): Promise<Json> => (await buildUser(service, app)).user
const newWebhookApp = () => buildApp(service, { webhooks: [{ name: 'crm', url: 'https://crm.example.com/hook' }] })
const newAccount = async (): Promise<Json> =>
  (await service.admin('POST', '/admin/service-accounts', { body: { name: randomUUID(), service: 'notes' } })).body
/** A service account with a permission. */
const newHolder = async (): Promise<Json> => {
  void (await permission.code)
  const account = await newAccount()
  await service.admin('PUT', `/admin/service-accounts/${account.id}/permissions`, { body: { permissions: ['notes:write'] } })
  return account
}
/** The id of an open request for access. */
const newRequest = async (): Promise<string> => {
  const { user } = await buildUser(service, app)
  await markVerified(service, user.id)
  const body = { email: user.email, password: PASSWORD, app_code: (await buildApp(service)).code }
  return (await service.call('POST', '/auth/access-requests', { body })).body.id
}
const newProvider = () => buildSsoProvider(service, `idp-${randomUUID().slice(0, 8)}`, { issuer: 'https://id.example.com' })
const roleWith = async (...permissions: string[]) => {
  void (await permission.code)
  return buildRole(service, 'global', permissions)
}

interface Write {
  path: string
  body?: Json
  /** The expected plan, if the dry run returns one. */
  plan?: Json
}

/** Each admin write, on something that exists only for it. */
const writes: Record<string, () => Promise<Write>> = {
  'POST /admin/users': async () => ({
    path: '/admin/users',
    body: { email: someEmail(), password: PASSWORD, tags: [somePool()], roles: [await roleWith()] },
  }),
  'POST /admin/users/import': async () => ({
    path: '/admin/users/import',
    body: JSON.stringify({ email: someEmail(), apps: [app.code] }),
  }),
  'PATCH /admin/users/{userId}': async () => ({
    path: `/admin/users/${(await newUser()).id}`,
    body: { status: 'suspended', email: someEmail() },
  }),
  'DELETE /admin/users/{userId}': async () => ({ path: `/admin/users/${(await newUser()).id}` }),
  'DELETE /admin/users/{userId} with erase': async () => {
    const { id } = await newUser()
    await service.admin('PATCH', `/admin/users/${id}`, { body: { email: someEmail() } })
    const plan = {
      user_id: id,
      deletes: true,
      addresses: 2,
      audit_events: expect.any(Number),
      invitations: 0,
      mails: 1,
      webhook_deliveries: 0,
    }
    return { path: `/admin/users/${id}?erase=true`, plan }
  },
  'POST /admin/users/{userId}/unlock': async () => {
    const { id, email } = await newUser()
    await service.login(email, app.code, { password: 'wrong password' })
    return { path: `/admin/users/${id}/unlock` }
  },
  'DELETE /admin/lockouts/{key}': async () => {
    const { email } = await newUser()
    await service.login(email, app.code, { password: 'wrong password' })
    const { items } = (await service.admin('GET', '/admin/lockouts?limit=200')).body
    const { key } = items.find((each: Json) => each.email === email)
    return { path: `/admin/lockouts/${encodeURIComponent(key)}` }
  },
  'DELETE /admin/users/{userId}/sessions/{sessionId}': async () => {
    const { user, access_token } = await buildUser(service, app)
    return { path: `/admin/users/${user.id}/sessions/${claimsOf(access_token).sid}` }
  },
  'POST /admin/users/{userId}/offboard': async () => {
    const { id } = await newUser()
    await addMember(service, organization.id, id, ['org_member'])
    return { path: `/admin/users/${id}/offboard`, body: {} }
  },
  'POST /admin/users/offboard': async () => ({ path: '/admin/users/offboard', body: { users: [(await newUser()).email] } }),
  'POST /admin/users/{userId}/logout': async () => ({ path: `/admin/users/${(await newUser()).id}/logout` }),
  'DELETE /admin/users/{userId}/2fa': async () => {
    const { user, access_token } = await buildUser(service, app)
    await enableTwoFactor(service, access_token)
    return { path: `/admin/users/${user.id}/2fa` }
  },
  'DELETE /admin/users/{userId}/identities/{identityId}': async () => {
    const [{ id: user_id }, { id: provider_id }] = [await newUser(), await newProvider()]
    const id = randomUUID()
    await service.deps.db('user_identities').insert({ id, user_id, provider_id, subject: randomUUID(), created_at: 1 })
    return { path: `/admin/users/${user_id}/identities/${id}` }
  },
  'DELETE /admin/users/{userId}/passkeys/{passkeyId}': async () => {
    const { id: user_id } = await newUser()
    const [id, credential_id] = [randomUUID(), randomUUID()]
    const row = { id, user_id, credential_id, public_key: 'x', sign_count: 0, name: 'Laptop', created_at: 1 }
    await service.deps.db('passkeys').insert(row)
    return { path: `/admin/users/${user_id}/passkeys/${id}` }
  },
  'DELETE /admin/users/{userId}/trusted-browsers/{browserId}': async () => {
    const { id: user_id } = await newUser()
    const [id, hash] = [randomUUID(), randomUUID()]
    const row = { id, hash, user_id, version: 0, factor_activated_at: 1, proven_at: 1, expires_at: 10 ** 13 }
    await service.deps.db('trusted_browsers').insert(row)
    return { path: `/admin/users/${user_id}/trusted-browsers/${id}` }
  },
  'POST /admin/signing-keys/rotate': async () => {
    await service.admin('GET', '/admin/signing-keys')
    return { path: '/admin/signing-keys/rotate', body: {} }
  },
  'POST /admin/apps/{appId}/client-secrets': async () => ({
    path: `/admin/apps/${(await buildApp(service)).code}/client-secrets`,
  }),
  'DELETE /admin/apps/{appId}/client-secrets/{secretId}': async () => {
    const { code } = await buildApp(service)
    const { body } = await service.admin('POST', `/admin/apps/${code}/client-secrets`)
    return { path: `/admin/apps/${code}/client-secrets/${body.id}` }
  },
  'POST /admin/users/{userId}/apps/{appId}': async () => ({
    path: `/admin/users/${(await newUser()).id}/apps/${(await buildApp(service)).code}`,
    body: { reason: 'why not' },
  }),
  'POST /admin/access-requests/{requestId}/approve': async () => ({
    path: `/admin/access-requests/${await newRequest()}/approve`,
    body: { reason: 'why not' },
  }),
  'POST /admin/access-requests/{requestId}/deny': async () => ({
    path: `/admin/access-requests/${await newRequest()}/deny`,
    body: { reason: 'not now' },
  }),
  'POST /admin/apps/{appId}/grants': async () => ({
    path: `/admin/apps/${(await buildApp(service)).code}/grants`,
    body: { users: [(await newUser()).id, (await newUser()).email, someEmail()] },
  }),
  'POST /admin/apps/{appId}/grants/revoke': async () => ({
    path: `/admin/apps/${app.id}/grants/revoke`,
    body: { users: [(await buildUser(service, app)).user.id, (await newUser()).email, someEmail()] },
  }),
  'DELETE /admin/users/{userId}/apps/{appId}': async () => ({ path: `/admin/users/${(await newUser()).id}/apps/${app.id}` }),
  'POST /admin/users/{userId}/roles': async () => ({
    path: `/admin/users/${(await newUser()).id}/roles`,
    body: { role_code: await roleWith() },
  }),
  'DELETE /admin/users/{userId}/roles/{roleCode}': async () => {
    const [{ id }, role] = [await newUser(), await roleWith()]
    await assignRole(service, id, role)
    return { path: `/admin/users/${id}/roles/${role}` }
  },
  'PUT /admin/users/{userId}/namespace': async () => ({
    path: `/admin/users/${(await newUser()).id}/namespace`,
    body: { namespace: somePool() },
  }),
  'PATCH /admin/users/{userId}/namespaces': async () => ({
    path: `/admin/users/${(await newUser()).id}/namespaces`,
    body: { add: [somePool()] },
  }),
  'POST /admin/apps': async () => {
    const code = unique('app')
    return {
      path: '/admin/apps',
      body: { code, name: code, webhooks: [{ name: 'crm', url: 'https://crm.example.com', secret: `whsec_${'A'.repeat(43)}=` }] },
    }
  },
  'PATCH /admin/apps/{appId}': async () => ({
    path: `/admin/apps/${(await buildApp(service)).code}`,
    body: { status: 'inactive', name: 'Off' },
  }),
  'DELETE /admin/apps/{appId}': async () => ({ path: `/admin/apps/${(await buildApp(service)).code}` }),
  'POST /admin/apps/{appId}/test-mail': async () => ({
    path: `/admin/apps/${(await buildApp(service)).code}/test-mail`,
    body: { to: someEmail() },
    plan: { accepted: false, status: null, error: null },
  }),
  'PUT /admin/apps/{appId}/logo': async () => ({
    path: `/admin/apps/${(await buildApp(service)).code}/logo`,
    body: buildPng(4, 4),
  }),
  'DELETE /admin/apps/{appId}/logo': async () => {
    const path = `/admin/apps/${(await buildApp(service)).code}/logo`
    await service.admin('PUT', path, { body: buildPng(4, 4), headers: { 'content-type': 'image/png' } })
    return { path }
  },
  'POST /admin/apps/{appId}/signing': async () => {
    const path = `/admin/apps/${(await buildApp(service)).code}/signing`
    // Each prepared key is a different one, so the step to compare is the switch to a key that exists.
    await service.admin('POST', path, { body: { step: 'prepare' } })
    return { path, body: { step: 'switch' } }
  },
  'POST /admin/apps/{appId}/webhooks/test': async () => ({
    path: `/admin/apps/${(await newWebhookApp()).code}/webhooks/test`,
    body: {},
    plan: { deliveries: [{ webhook: 'crm', url: 'https://crm.example.com/hook' }] },
  }),
  'POST /admin/webhook-deliveries/{deliveryId}/redeliver': async () => {
    const { id } = await newWebhookApp()
    await service.admin('POST', `/admin/apps/${id}/webhooks/test`)
    const finished = { status: 'failed', finished_at: 1, next_attempt_at: 1 }
    const [delivery] = await service.deps.db('outbox').where({ app_id: id }).update(finished).returning('id')
    return {
      path: `/admin/webhook-deliveries/${delivery.id}/redeliver`,
      plan: { deliveries: [{ webhook: 'crm', url: 'https://crm.example.com/hook' }] },
    }
  },
  'POST /admin/webhook-deliveries/redeliver': async () => {
    const { id, code } = await newWebhookApp()
    await service.admin('POST', `/admin/apps/${id}/webhooks/test`)
    await service.deps.db('outbox').where({ app_id: id }).update({ status: 'failed', finished_at: 1, next_attempt_at: 1 })
    return { path: '/admin/webhook-deliveries/redeliver', body: { app: code }, plan: { count: 1 } }
  },
  'POST /admin/mails/{mailId}/resend': async () => {
    const { id, email } = await newUser()
    const finished = { status: 'failed', finished_at: service.deps.clock(), attempts: 7, last_error: 'x' }
    const [mail] = await service.deps.db('outbox').where({ user_id: id, destination: email }).update(finished).returning('id')
    return { path: `/admin/mails/${mail.id}/resend` }
  },
  'POST /admin/organizations': async () => ({ path: '/admin/organizations', body: { name: unique('org') } }),
  'PATCH /admin/organizations/{organizationId}': async () => ({
    path: `/admin/organizations/${(await buildOrganization(service)).id}`,
    body: { name: 'Renamed' },
  }),
  'DELETE /admin/organizations/{organizationId}': async () => ({
    path: `/admin/organizations/${(await buildOrganization(service)).id}`,
  }),
  'PUT /admin/organizations/{organizationId}/members/{userId}': async () => ({
    path: `/admin/organizations/${organization.id}/members/${(await newUser()).id}`,
    body: { role_codes: ['org_admin'] },
  }),
  'DELETE /admin/organizations/{organizationId}/members/{userId}': async () => {
    const { id } = await newUser()
    await addMember(service, organization.id, id, ['org_member'])
    return { path: `/admin/organizations/${organization.id}/members/${id}` }
  },
  'POST /admin/organizations/{organizationId}/invitations': async () => ({
    path: `/admin/organizations/${organization.id}/invitations`,
    body: { email: someEmail(), role_codes: ['org_member'] },
  }),
  'DELETE /admin/organizations/{organizationId}/invitations/{invitationId}': async () => {
    await buildInvitation(service, { organizationId: organization.id })
    const { items } = (await service.admin('GET', `/admin/organizations/${organization.id}/invitations?limit=1`)).body
    return { path: `/admin/organizations/${organization.id}/invitations/${items[0].id}` }
  },
  'POST /admin/roles': async () => {
    const code = unique('role')
    return { path: '/admin/roles', body: { code, name: code, scope: 'global' } }
  },
  'PATCH /admin/roles/{roleCode}': async () => ({ path: `/admin/roles/${await roleWith()}`, body: { name: 'Renamed' } }),
  'DELETE /admin/roles/{roleCode}': async () => ({ path: `/admin/roles/${await roleWith()}` }),
  'PUT /admin/roles/{roleCode}/permissions': async () => ({
    path: `/admin/roles/${await roleWith('notes:write')}/permissions`,
    body: { permissions: ['notes:read'] },
  }),
  'POST /admin/roles/{roleCode}/permissions': async () => ({
    path: `/admin/roles/${await roleWith()}/permissions`,
    body: { permissions: ['notes:read'] },
  }),
  'DELETE /admin/roles/{roleCode}/permissions/{permission}': async () => ({
    path: `/admin/roles/${await roleWith('notes:read')}/permissions/notes:read`,
  }),
  'POST /admin/permissions/register': async () => ({
    path: '/admin/permissions/register',
    body: { service: unique('service'), permissions: [{ code: `${unique('x')}:read`, name: 'Read' }].map(withParts) },
  }),
  'POST /admin/service-accounts': async () => ({
    path: '/admin/service-accounts',
    body: { name: randomUUID(), service: 'notes' },
  }),
  'PATCH /admin/service-accounts/{serviceAccountId}': async () => ({
    path: `/admin/service-accounts/${(await newAccount()).id}`,
    body: { name: randomUUID() },
  }),
  'POST /admin/service-accounts/{serviceAccountId}/rotate': async () => ({
    path: `/admin/service-accounts/${(await newAccount()).id}/rotate`,
  }),
  'DELETE /admin/service-accounts/{serviceAccountId}': async () => ({
    path: `/admin/service-accounts/${(await newAccount()).id}`,
  }),
  'PUT /admin/service-accounts/{serviceAccountId}/permissions': async () => ({
    path: `/admin/service-accounts/${(await newHolder()).id}/permissions`,
    body: { permissions: ['notes:read'] },
  }),
  'PATCH /admin/service-accounts/{serviceAccountId}/permissions': async () => ({
    path: `/admin/service-accounts/${(await newHolder()).id}/permissions`,
    body: { add: ['notes:read'], remove: ['notes:write'] },
  }),
  'POST /admin/sso-providers': async () => ({
    path: '/admin/sso-providers',
    body: { code: `idp-${randomUUID().slice(0, 8)}`, issuer: 'https://id.example.com', client_id: 'a', client_secret: 'b' },
  }),
  'PATCH /admin/sso-providers/{providerCode}': async () => ({
    path: `/admin/sso-providers/${(await newProvider()).code}`,
    body: { enabled: false },
  }),
  'DELETE /admin/sso-providers/{providerCode}': async () => ({ path: `/admin/sso-providers/${(await newProvider()).code}` }),
}

function withParts(declared: { code: string; name: string }): Json {
  const [resource, action] = declared.code.split(':')
  return { ...declared, resource, action }
}

const nameOf = ({ method, path }: Route) => `${method} ${path}`
const tokenTrace = 'POST /admin/tokens/trace'
const isAdminWrite = (route: Route) => route.method !== 'GET' && route.path.startsWith('/admin/') && nameOf(route) !== tokenTrace
const dry = (path: string) => `${path}${path.includes('?') ? '&' : '?'}dry_run=true`

/** A reply without what differs from call to call, and without the secrets that a dry run leaves out. */
function comparable(value: Json, secrets: readonly string[]): Json {
  if (Array.isArray(value)) return value.map((each) => comparable(each, secrets))
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, secrets.includes(name) ? null : comparable(member, secrets)]),
    )
  if (typeof value !== 'string') return value
  return value.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<id>').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
}

const secretsOf: Record<string, string[]> = {
  'POST /admin/apps/{appId}/client-secrets': ['secret'],
  'POST /admin/service-accounts': ['token'],
  'POST /admin/service-accounts/{serviceAccountId}/rotate': ['token'],
  'POST /admin/organizations/{organizationId}/invitations': ['token', 'code'],
}

/** Members that are made at random in each call. */
const randomOf: Record<string, string[]> = { 'POST /admin/signing-keys/rotate': ['kid'] }

/** Members that only the dry run returns, of routes that have their own. */
const plansOf: Record<string, string[]> = { 'POST /admin/permissions/register': ['roles', 'user_count'] }

test('every admin write is in the table, and only admin writes accept a dry run and a reason', () => {
  const declared = listRoutes().filter(isAdminWrite)
  expect(Object.keys(writes).map((name) => name.replace(/ with .*/, ''))).toEqual(expect.arrayContaining(declared.map(nameOf)))
  for (const route of [...listRoutes(), ...listRootRoutes()]) {
    const takes = ['dry_run' in (route.query?.shape ?? {}), 'x-audit-reason' in (route.headers?.shape ?? {})]
    const expected = [isAdminWrite(route), isAdminWrite(route) || nameOf(route) === tokenTrace]
    expect([nameOf(route), ...takes]).toEqual([nameOf(route), ...expected])
  }
  expect(declared.filter(({ dryRun }) => dryRun === 'own').map(nameOf)).toEqual([
    'POST /admin/users/import',
    'POST /admin/permissions/register',
  ])
})

describe.each(Object.entries(writes))('%s', (name, build) => {
  test('a dry run answers as the call does, and leaves no trace', async () => {
    const [method] = name.split(' ') as [string]
    const { path, body, plan } = await build()
    const types = { '/import': 'application/x-ndjson', '/logo': 'image/png' }
    const type = Object.entries(types).find(([end]) => name.endsWith(end))?.[1]
    const headers: Record<string, string> = type ? { 'content-type': type } : {}
    // Logs the admin in before the rows are compared.
    await service.admin('GET', '/admin/settings')
    let rings = 0
    service.deps.outboxBell.onRing = () => {
      rings += 1
    }
    const before = await everyRow(service)
    const rehearsed = await service.admin(method, dry(path), { body, headers })
    expect(await everyRow(service)).toEqual(before)
    expect(rings).toBe(0)
    expect(rehearsed.headers.get('x-dry-run')).toBe('true')
    expectHeaders(rehearsed)

    const reason = `ticket ${randomUUID()} – “quoted”`
    const real = await service.admin(method, path, {
      body,
      headers: { ...headers, 'x-audit-reason': encodeURIComponent(reason) },
    })
    expect(real.status).toBeLessThan(300)
    expect(real.headers.get('x-dry-run')).toBeNull()
    if (plan) expect(rehearsed).toMatchObject({ status: 200, body: plan })
    else {
      expect(rehearsed.status).toBe(real.status)
      const { [name]: more = [] } = plansOf
      for (const member of more) delete rehearsed.body[member]
      expect(comparable(rehearsed.body, randomOf[name] ?? [])).toEqual(
        comparable(real.body, [...(secretsOf[name] ?? []), ...(randomOf[name] ?? [])]),
      )
    }
    const events = await auditEvents(service, { request_id: real.headers.get('x-request-id') })
    expect(events.length).toBeGreaterThan(0)
    // Erasing blanks what earlier events say about the user, also those of the same call.
    const kept = name.endsWith('with erase') ? events.filter(({ event }) => event === 'user.erased') : events
    expect(kept.map((event) => event.audit_reason)).toEqual(kept.map(() => reason))
  })
})

test('a dry run is refused as the call is', async () => {
  const role = await roleWith()
  const { id } = await newUser()
  await assignRole(service, id, role)
  expectError(await service.admin('POST', dry('/admin/apps'), { body: { code: app.code, name: 'Again' } }), 'app_code_taken')
  expectError(await service.admin('DELETE', dry(`/admin/roles/${role}`)), 'role_in_use')
  expectError(await service.admin('DELETE', dry(`/admin/users/${randomUUID()}?erase=true`)), 'not_found')
  const bad = await service.admin('POST', dry('/admin/apps'), { body: { code: 'x', nope: 1 } })
  expectError(bad, 'validation_failed')
  expect(bad.headers.get('x-dry-run')).toBe('true')
  expect(faultsOf(await service.admin('POST', '/admin/roles?dry_run=yes', { body: {} }))).toEqual(['dry_run: invalid_value'])
})

test('a dry run leaves tokens and the memory of servers as they are, and can be repeated', async () => {
  const own = await buildApp(service, { auto_grant_on_signup: true })
  const tokens = await buildUser(service, own)
  for (const [method, path, body] of [
    ['PATCH', `/admin/apps/${own.code}`, { status: 'inactive' }],
    ['DELETE', `/admin/users/${tokens.user.id}`],
    ['POST', `/admin/users/${tokens.user.id}/logout`],
    ['DELETE', `/admin/users/${tokens.user.id}/apps/${own.code}`],
  ] as const) {
    for (const turn of [1, 2])
      expect([turn, (await service.admin(method, dry(path), { body })).status]).toEqual([
        turn,
        expect.toSatisfy((status: number) => status < 300),
      ])
    expect((await service.call('GET', '/auth/me', { token: tokens.access_token })).status).toBe(200)
    expect((await service.login(tokens.user.email, own.code)).status).toBe(200)
  }
})

test('a transaction that fails in a rehearsal is undone, and the next one works', async () => {
  const code = unique('role')
  const role = { code, name: code, scope: 'global', assignable_by: 'system_admin', built_in: 0, created_at: 1, updated_at: 1 }
  const seen = await rehearsal(service.deps, async (deps) => {
    const failing = transaction(deps, async ({ db }) => {
      await db('roles').insert(role)
      await db('roles').insert(role)
    })
    await expect(failing).rejects.toThrow()
    const undone = await deps.db('roles').where({ code })
    await transaction(deps, ({ db }) => db('roles').insert(role))
    return [undone.length, (await deps.db('roles').where({ code })).length]
  })
  expect(seen).toEqual([0, 1])
  expect(await service.deps.db('roles').where({ code })).toEqual([])
})

test('a dry run of a token trace is refused, because it would leave no record of the trace', async () => {
  const { user, refresh_token } = await buildUser(service, app)
  const trace = (path: string, reason: string) =>
    service.admin('POST', path, { body: { token: refresh_token }, headers: { 'x-audit-reason': reason } })
  for (const value of ['true', 'false', '']) {
    const refused = await trace(`/admin/tokens/trace?dry_run=${value}`, 'unseen')
    expectError(refused, 'validation_failed')
    expect(faultsOf(refused)).toEqual(['dry_run: unknown_field'])
    expect(JSON.stringify(refused.body)).not.toContain(user.id)
  }
  expect((await trace('/admin/tokens/trace', 'seen')).status).toBe(200)
  const events = await auditEvents(service, { event: 'token.traced', user_id: user.id })
  expect(events.map(({ audit_reason }) => audit_reason)).toEqual(['seen'])
})

describe('dry_run on every other route', () => {
  const root = new Set(listRootRoutes())
  test.each([...listRoutes(), ...root].filter((route) => !isAdminWrite(route)).map((route) => [nameOf(route), route] as const))(
    '%s refuses the parameter before anything is looked up',
    async (_, route) => {
      const prefix = root.has(route) ? '' : '/api/v1'
      const path = prefix + route.path.replace(/\{\w+\}/g, () => randomUUID())
      const reply = await callHttp(`${service.url}${path}?dry_run=true`, route.method)
      // Routes that a browser is sent to reply with a page.
      if (route.navigation || route.speaks === 'page') expect(reply.status).toBe(400)
      else {
        expectError(reply, 'validation_failed')
        if (reply.body.errors) expect(faultsOf(reply)).toEqual(['dry_run: unknown_field'])
        else expect(reply.body.error_description).toContain('dry_run')
      }
    },
  )
})
