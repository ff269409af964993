import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { productionSettings } from '../support/app-fixtures.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json } from '../support/service.ts'

const path = '/admin/sso-providers'
const issuer = 'https://id.example.com/realms/acme'

const service = serviceFixture()

const someCode = () => `idp-${randomUUID().slice(0, 8)}`

/** Links a user with a provider, as a login does. */
async function link(provider: Json): Promise<Json> {
  const { user } = await buildUser(service, await buildApp(service))
  const row = { id: randomUUID(), user_id: user.id, provider_id: provider.id, subject: randomUUID(), created_at: 1 }
  await service.deps.db('user_identities').insert(row)
  return user
}

// covers auth-sso
test('an admin creates, reads, changes and deletes a provider, whose secret is sealed and never read back', async () => {
  const code = someCode()
  const body = { code, issuer, client_id: 'gatehouse', client_secret: 'only the two know it' }
  const made = await service.admin('POST', path, { body })
  expect(made.status).toBe(201)
  expect(made.body).toEqual({
    id: expect.any(String),
    code,
    issuer,
    client_id: 'gatehouse',
    has_client_secret: true,
    scopes: ['openid', 'email', 'profile'],
    app_codes: [],
    trusted_email_domains: [],
    trusted_for_two_factor: false,
    enabled: true,
    callback_url: `http://localhost:4000/api/v1/auth/sso/${code}/callback`,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  })
  expect((await service.admin('GET', `${path}/${code}`)).body).toEqual(made.body)
  expect((await service.admin('GET', path)).body.items).toContainEqual(made.body)
  expect(JSON.stringify(await service.deps.db('sso_providers'))).not.toContain(body.client_secret)

  const changes = {
    client_id: 'another',
    client_secret: 'a newer one',
    scopes: ['email'],
    app_codes: ['shop'],
    trusted_email_domains: ['corp.com'],
    trusted_for_two_factor: true,
    enabled: false,
    issuer: `${issuer}/`,
  }
  const changed = await service.admin('PATCH', `${path}/${code}`, { body: changes })
  expect(changed.status).toBe(200)
  const { client_secret: _, ...shown } = changes
  expect(changed.body).toMatchObject({ ...shown, scopes: ['openid', 'email'] })
  expect((await service.admin('GET', `${path}/${code}`)).body).toEqual(changed.body)

  expect((await service.admin('DELETE', `${path}/${code}`)).status).toBe(204)
  expectError(await service.admin('GET', `${path}/${code}`), 'not_found')
  const events = await auditEvents(service, {})
  const own = events.filter(({ event }) => event.startsWith('sso_provider.'))
  expect(own.map(({ event }) => event)).toEqual(['sso_provider.created', 'sso_provider.updated', 'sso_provider.deleted'])
  expect(own[1].details).toEqual({ before: made.body, after: changed.body, client_secret_changed: true })
  expect(JSON.stringify(own)).not.toMatch(/only the two|a newer one/)
})

test('PATCH with null or "" for a required field of a provider is 400 and changes nothing', async () => {
  const code = someCode()
  const body = { code, issuer, client_id: 'gatehouse', client_secret: 'only the two know it', enabled: false }
  const made = (await service.admin('POST', path, { body })).body
  for (const field of ['issuer', 'client_id', 'client_secret', 'scopes', 'enabled']) {
    for (const blank of [null, '']) {
      const reply = await service.admin('PATCH', `${path}/${code}`, { body: { [field]: blank } })
      expectError(reply, 'validation_failed')
      expect(new Set(faultsOf(reply).map((fault) => fault.split(':')[0]))).toEqual(new Set([field]))
    }
  }
  expect((await service.admin('GET', `${path}/${code}`)).body).toEqual(made)
})

test('apps and trusted domains are normalized and kept once, "*" means all, and an empty list means none', async () => {
  const provider = await buildSsoProvider(service, someCode(), {
    issuer,
    app_codes: ['shop', 'wiki', 'shop'],
    trusted_email_domains: [' Corp.COM ', 'bücher.example', 'corp.com'],
  })
  const domains = ['corp.com', 'xn--bcher-kva.example']
  expect(provider).toMatchObject({ app_codes: ['shop', 'wiki'], trusted_email_domains: domains })
  const own = `${path}/${provider.code}`
  const kept = await service.admin('PATCH', own, { body: { app_codes: ['*'] } })
  expect(kept.body).toMatchObject({ app_codes: ['*'], trusted_email_domains: domains })
  const cleared = await service.admin('PATCH', own, { body: { app_codes: [], trusted_email_domains: ['*'] } })
  expect(cleared.body).toMatchObject({ app_codes: [], trusted_email_domains: ['*'] })
})

test('google needs no issuer, and every other provider needs one', async () => {
  expect(await buildSsoProvider(service, 'google', {})).toMatchObject({ issuer: 'https://accounts.google.com' })
  const reply = await service.admin('POST', path, { body: { code: someCode(), client_id: 'a', client_secret: 'b' } })
  expectError(reply, 'validation_failed')
  expect(faultsOf(reply)).toEqual(['issuer: required'])
})

test.each([
  [{ code: 'password' }, 'code: invalid_value'],
  [{ code: 'magic_link' }, 'code: invalid_value'],
  [{ code: 'Not Kebab' }, 'code: invalid_value'],
  [{ issuer: 'id.example.com' }, 'issuer: invalid_value'],
  [{ issuer: 'https://id.example.com?tenant=1' }, 'issuer: invalid_value'],
  [{ client_id: '' }, 'client_id: too_short'],
  [{ client_secret: undefined }, 'client_secret: required'],
  [{ client_secret: '' }, 'client_secret: too_short'],
  [{ scopes: 'openid email' }, 'scopes: invalid_type'],
  [{ scopes: ['openid email'] }, 'scopes.0: invalid_value'],
  [{ app_codes: 'shop' }, 'app_codes: invalid_type'],
  [{ app_codes: ['shop', 'Not Kebab'] }, 'app_codes.1: invalid_value'],
  [{ app_codes: [''] }, 'app_codes.0: invalid_value'],
  [{ app_codes: ['shop-*'] }, 'app_codes.0: invalid_value'],
  [{ app_codes: null }, 'app_codes: invalid_type'],
  [{ trusted_email_domains: '*' }, 'trusted_email_domains: invalid_type'],
  [{ trusted_email_domains: ['*.corp.com'] }, 'trusted_email_domains.0: invalid_value'],
  [{ trusted_email_domains: ['corp.com', 'ada@corp.com'] }, 'trusted_email_domains.1: invalid_value'],
  [{ trusted_email_domains: [''] }, 'trusted_email_domains.0: invalid_value'],
  [{ enabled: 'yes' }, 'enabled: invalid_type'],
  [{ has_client_secret: true }, 'has_client_secret: unknown_field'],
])('a provider with %j is refused', async (wrong, fault) => {
  const body = { code: someCode(), issuer, client_id: 'a', client_secret: 'b', ...wrong }
  const reply = await service.admin('POST', path, { body })
  expectError(reply, 'validation_failed')
  expect(faultsOf(reply)).toEqual([fault])
})

test('the code of a provider is unique and never changes', async () => {
  const { code } = await buildSsoProvider(service, someCode(), { issuer })
  const again = await service.admin('POST', path, { body: { code, issuer, client_id: 'a', client_secret: 'b' } })
  expectError(again, 'sso_provider_code_taken')
  expectError(await service.admin('PATCH', `${path}/${code}`, { body: { code: 'another' } }), 'code_immutable')
})

test('a provider with linked users keeps its issuer and is deleted only with force, which unlinks them', async () => {
  const provider = await buildSsoProvider(service, someCode(), { issuer })
  await link(provider)
  const own = `${path}/${provider.code}`
  expectError(await service.admin('PATCH', own, { body: { issuer: 'https://evil.example.com' } }), 'sso_provider_in_use')
  expect((await service.admin('PATCH', own, { body: { issuer, client_id: 'other' } })).status).toBe(200)
  expectError(await service.admin('DELETE', own), 'sso_provider_in_use')
  expectError(await service.admin('DELETE', `${own}?force=perhaps`), 'validation_failed')
  expect((await service.admin('DELETE', `${own}?force=true`)).status).toBe(204)
  expect(await service.deps.db('user_identities').where({ provider_id: provider.id })).toEqual([])
})

test('providers are listed newest first and in pages', async () => {
  const codes = [someCode(), someCode(), someCode()]
  for (const code of codes) await buildSsoProvider(service, code, { issuer })
  const first = (await service.admin('GET', `${path}?limit=2`)).body
  const second = (await service.admin('GET', `${path}?limit=1&cursor=${first.next_cursor}`)).body
  expect([...first.items, ...second.items].map((item: Json) => item.code)).toEqual(codes.toReversed())
})

// covers app-auth-method-names
test('an app may name the code of any provider among its methods, and no other code', async () => {
  const { code } = await buildSsoProvider(service, someCode(), { issuer, enabled: false })
  const app = await buildApp(service, { allowed_auth_methods: ['password', code, 'google'] })
  expect(app.allowed_auth_methods).toEqual(['password', code, 'google'])
  const reply = await service.admin('PATCH', `/admin/apps/${app.id}`, {
    body: { allowed_auth_methods: [code, 'carrier_pigeon'] },
  })
  expectError(reply, 'validation_failed')
  expect(faultsOf(reply)).toEqual(['allowed_auth_methods.1: invalid_value'])
  expect(reply.body.errors[0].message).toBe('must be password, magic_link, email_code, passkey, google or the code of a provider')
})

test('an issuer must be https in production', async () => {
  const production = await buildService(productionSettings)
  const create = (url: string) =>
    production.admin('POST', path, { body: { code: someCode(), issuer: url, client_id: 'a', client_secret: 'b' } })
  expect(faultsOf(await create('http://id.example.com'))).toEqual(['issuer: invalid_value'])
  const made = await create('https://id.example.com')
  expect(made.body.callback_url).toBe(`https://login.example.com/api/v1/auth/sso/${made.body.code}/callback`)
  const change = { body: { issuer: 'http://id.example.com' } }
  expect(faultsOf(await production.admin('PATCH', `${path}/${made.body.code}`, change))).toEqual(['issuer: invalid_value'])
})
