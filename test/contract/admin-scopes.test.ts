// What the scopes for administration open, and what they do not.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { listRoutes } from '../../packages/server/src/app.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildUser, type Json, PASSWORD } from '../support/service.ts'

const service = serviceFixture()

async function buildAccount(scopes: string[], others: Json = {}): Promise<Json> {
  const body = { name: randomUUID(), service: 'nightly', scopes, ...others }
  const { status, body: account } = await service.admin('POST', '/admin/service-accounts', { body })
  expect(status).toBe(201)
  return account
}

describe('admin:read', () => {
  const read = (token: string) => service.call('GET', '/admin/apps', { token })

  test('is off unless it is given, needs no app, and opens reads from the next call on, until it is taken away', async () => {
    const { id, token, scopes } = await buildAccount([])
    expect(scopes).toEqual([])
    expectError(await read(token), 'system_admin_required')
    const give = (scopes: string[] | null) => service.admin('PATCH', `/admin/service-accounts/${id}`, { body: { scopes } })
    expect((await give(['admin:read'])).body.app_codes).toEqual([])
    expect((await read(token)).status).toBe(200)
    await give(null)
    expectError(await read(token), 'system_admin_required')
  })

  test('says what is needed where it does not suffice', async () => {
    const { token } = await buildAccount(['admin:read'])
    const write = await service.call('POST', '/admin/organizations', { token, body: { name: 'Acme' } })
    expectError(write, 'system_admin_required')
    expect(write.body.detail).toBe('admin:read may not do this. Needed: system_admin')
    const without = await read((await buildAccount(['permissions:register'])).token)
    expect(without.body.detail).toBe('Needed: system_admin, or admin:read')
  })

  test('gives no right at a door of users, and none that another scope gives', async () => {
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

  test('what it exports of a person is audited with the account', async () => {
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
