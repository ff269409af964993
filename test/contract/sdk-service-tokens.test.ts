// A backend that calls another one with machine tokens, both with the SDK, against the real service.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAuth, createServiceTokens } from '@gatehouse/sdk'
import { requireAuth } from '@gatehouse/sdk/node'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { readAppSecret } from '../../packages/server/src/resources/apps/apps.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { startRevocationFeed } from '../../packages/server/src/workers/revocation-feed.ts'
import { registerPermissions } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { until } from '../support/mailbox.ts'
import { ACCESS_SECRET, buildUser, claimsOf, type Json, unique } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service, { machine_tokens: true, auto_grant_on_signup: true })
beforeAll(async () => {
  const feed = await startRevocationFeed(service.deps)
  afterAll(() => feed.stop())
})

async function buildAccount(): Promise<Json> {
  const body = { name: unique('account'), service: unique('caller'), scopes: ['tokens:issue'], app_codes: [app.code] }
  return (await service.admin('POST', '/admin/service-accounts', { body })).body
}

const permit = (account: Json, permissions: string[]) =>
  service.admin('PUT', `/admin/service-accounts/${account.id}/permissions`, { body: { permissions } })

/** A backend of the app. `/` takes machine tokens with that permission, `/users` only tokens of users. */
async function startBackend(permission: string, secret = ACCESS_SECRET) {
  const auth = createAuth({ authUrl: service.url, appCode: app.code, secret, logger: false })
  const forServices = requireAuth(auth, { kind: 'service', permissions: [permission] })
  const answerServices = forServices((_, response) => void response.end('for services'))
  const answerUsers = requireAuth(auth)((_, response) => void response.end('for users'))
  const server = createServer((request, response) => (request.url === '/users' ? answerUsers : answerServices)(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await auth.close()
    server.closeAllConnections()
    server.close()
  })
  await auth.ready
  return { auth, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function tokensOf(serviceToken: string, now = Date.now) {
  return createServiceTokens({ authUrl: service.url, serviceToken, now })
}

/** Registers a permission of a new service, and lists that service in the app. */
async function declare(): Promise<string> {
  const [name, permission] = [unique('service'), `${unique('thing')}:read`]
  await registerPermissions(service, name, [permission])
  const { service_codes } = (await service.admin('GET', `/admin/apps/${app.id}`)).body
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { service_codes: [...service_codes, name] } })
  return permission
}

test('a backend calls another one with one token for all its calls, and a user cannot make that call', async () => {
  const permission = await declare()
  const account = await buildAccount()
  await permit(account, [permission])
  const backend = await startBackend(permission)
  const tokens = tokensOf(account.token)
  const answers = await Promise.all(Array.from({ length: 50 }, () => tokens.fetch(app.code, backend.url)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const issued = service.deps.db('audit_events').where({ event: 'machine_token.issued' })
  const ofAccount = (await issued.pluck('details')).filter((details: string) => details.includes(account.id))
  expect(ofAccount).toHaveLength(1)

  const bearer = `Bearer ${await tokens.get(app.code)}`
  expect((await fetch(`${backend.url}/users`, { headers: { authorization: bearer } })).status).toBe(403)
  const { access_token } = await buildUser(service, app)
  const headers = { authorization: `Bearer ${access_token}` }
  expect((await fetch(`${backend.url}/users`, { headers })).status).toBe(200)
  expect((await fetch(backend.url, { headers })).status).toBe(403)
})

test('a removed permission and a rotation of the account take effect at the other backend at once', async () => {
  const [kept, lost] = [await declare(), await declare()]
  const account = await buildAccount()
  await permit(account, [kept, lost])
  const backend = await startBackend(lost)
  let ahead = 0
  const tokens = tokensOf(account.token, () => Date.now() + ahead)
  const token = await tokens.get(app.code)
  expect((await tokens.fetch(app.code, backend.url)).status).toBe(200)

  await permit(account, [kept])
  await until(async () => !(await backend.auth.safeVerify(token)).ok, 'the token with the lost permission is refused')
  // The caller goes on: its next token has the permissions that are left.
  ahead += 10_000
  expect((await tokens.fetch(app.code, backend.url)).status).toBe(403)
  const renewed = await tokens.get(app.code)
  expect(claimsOf(renewed).permissions).toContain(kept)
  expect(claimsOf(renewed).permissions).not.toContain(lost)

  await service.admin('POST', `/admin/service-accounts/${account.id}/rotate`)
  await until(async () => !(await backend.auth.safeVerify(renewed)).ok, 'the token of the rotated account is refused')
  ahead += 10_000
  await expect(tokens.fetch(app.code, backend.url)).rejects.toMatchObject({ code: 'SERVICE_REJECTED' })
})

test('an app with its own secret gets tokens that are signed with it', async () => {
  const permission = await declare()
  const account = await buildAccount()
  await permit(account, [permission])
  const tokens = tokensOf(account.token)
  const shared = await startBackend(permission)
  for (const step of ['prepare', 'switch', 'finish']) {
    const path = `/admin/apps/${app.code}/signing?force=true`
    expect((await service.admin('POST', step === 'finish' ? path : path.split('?')[0]!, { body: { step } })).status).toBe(200)
  }
  const bearer = { headers: { authorization: `Bearer ${await tokens.get(app.code)}` } }
  expect((await fetch(shared.url, bearer)).status).toBe(401)
  const { secret } = await readAppSecret(service.deps, app.code, systemActor)
  const own = await startBackend(permission, secret)
  expect((await fetch(own.url, bearer)).status).toBe(200)
})
