// The SDK against the real service: permissions registered at boot, and what a backend calls with `auth.api`.
import { randomUUID } from 'node:crypto'
import { type Auth, type AuthEvent, type AuthOptions, createAuth, definePermissions } from '@gatehouse/sdk'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { ACCESS_SECRET, buildApp, buildUser, claimsOf, type Json, PASSWORD, someEmail, unique } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)

async function buildServiceToken(name: string, settings: Json = {}): Promise<string> {
  const body = { name: randomUUID(), service: name, ...settings }
  return (await service.admin('POST', '/admin/service-accounts', { body })).body.token
}

/** The permissions `r:<action>` of a service, `r` being its name. */
const manifest = (name: string, ...actions: string[]) =>
  definePermissions(name, Object.fromEntries(actions.map((action) => [`${name}:${action}`, `May ${action}`])))

function boot(
  serviceToken: string,
  permissions: AuthOptions['permissions'],
  options: AuthOptions = {},
): Auth & { events: AuthEvent[] } {
  const events: AuthEvent[] = []
  const onEvent = (event: AuthEvent) => void events.push(event)
  const usual = { authUrl: service.url, appCode: app.code, secret: ACCESS_SECRET, revocation: { mode: 'off' } } as const
  const auth = createAuth({ ...usual, serviceToken, permissions, onEvent, ...options })
  onTestFinished(() => auth.close())
  return Object.assign(auth, { events })
}

async function codesOf(name: string): Promise<string[]> {
  const { body } = await service.admin('GET', `/admin/permissions?service=${name}&limit=200`)
  return body.items.map((item: Json) => item.code).sort()
}

// covers service-onboarding service-consumer-settings
test('an app is ready once an admin has created it, its backend has three settings, and its logins name it', async () => {
  const code = unique('onboard')
  const email = someEmail()
  expect((await service.register(email, code)).body.code).toBe('app_not_found')
  const body = { code, name: 'On board', auto_grant_on_signup: true }
  expect((await service.admin('POST', '/admin/apps', { body })).status).toBe(201)
  const settings = { SERVICE_AUTH_URL: service.url, SERVICE_APP_CODE: code, JWT_ACCESS_SECRET: ACCESS_SECRET }
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const auth = createAuth({ revocation: { mode: 'off' } })
  onTestFinished(() => auth.close())
  const { user } = (await service.register(email, code)).body
  expect((await service.login(email, '')).body.code).toBe('app_code_required')
  const { access_token } = (await service.login(email, code)).body
  expect(await auth.verify(access_token)).toMatchObject({ userId: user.id })
  const elsewhere = await buildUser(service, app)
  await expect(auth.verify(elsewhere.access_token)).rejects.toMatchObject({ code: 'TOKEN_AUDIENCE' })
})

describe('registerPermissions', () => {
  // covers service-permissions-declared permissions-idempotent
  test('registerPermissions brings the manifest into the catalog and into tokens, and changes nothing at the next boot', async () => {
    const name = unique('notes')
    const listing = await buildApp(service, { auto_grant_on_signup: true, service_codes: [name] })
    const token = await buildServiceToken(name)
    const first = boot(token, manifest(name, 'read', 'write'))
    expect(await first.registerPermissions().ready).toEqual({ created: 2, updated: 0, pruned: 0, unchanged: 0 })
    expect(first.health().registration).toBe('registered')
    const user = await buildUser(service, listing)
    expect(claimsOf(user.access_token).permissions).toEqual(expect.arrayContaining([`${name}:read`, `${name}:write`]))
    const counts = await boot(token, manifest(name, 'read', 'write')).registerPermissions({ mode: 'require' }).ready
    expect(counts).toEqual({ created: 0, updated: 0, pruned: 0, unchanged: 2 })
  })

  test('roles keep their permissions while a rolling deployment alternates between two releases', async () => {
    const name = unique('flap')
    const token = await buildServiceToken(name)
    const old = manifest(name, 'read', 'legacy')
    const next = manifest(name, 'read', 'export')
    await boot(token, old).registerPermissions().ready
    const role = unique('role')
    await service.admin('POST', '/admin/roles', { body: { code: role, name: role, scope: 'global' } })
    await service.admin('PUT', `/admin/roles/${role}/permissions`, { body: { permissions: [`${name}:read`, `${name}:legacy`] } })
    const held = async () =>
      (await service.admin('GET', `/admin/roles/${role}/permissions`)).body.items.map((item: Json) => item.code).sort()
    for (const permissions of [next, old, next, old]) await boot(token, permissions).registerPermissions().ready
    expect(await held()).toEqual([`${name}:legacy`, `${name}:read`])

    // With revisions, the old release prunes nothing of the new one.
    await boot(token, next).registerPermissions({ revision: 2 }).ready
    expect(await boot(token, old).registerPermissions({ revision: 1 }).ready).toMatchObject({ pruned: 0 })
    expect(await codesOf(name)).toEqual([`${name}:export`, `${name}:legacy`, `${name}:read`])
  })

  test('fifty concurrent boots of two releases end in exactly the list of one of them', async () => {
    const name = unique('fleet')
    const token = await buildServiceToken(name)
    const lists = [manifest(name, 'a', 'both'), manifest(name, 'b', 'both', 'c')]
    const replicas = Array.from({ length: 50 }, (_, index) => boot(token, lists[index % 2]))
    await atOnce(replicas.length, (index) => replicas[index]!.registerPermissions().ready)
    expect(replicas.map((auth) => auth.health().registration)).toEqual(Array(50).fill('registered'))
    expect(lists.map((list) => Object.keys(list.permissions).sort())).toContainEqual(await codesOf(name))
  })

  test.each([
    ['a service account of another service', (name: string) => buildServiceToken(`${name}-other`), 'HTTP 403 service_mismatch'],
    [
      'a service account without the scope',
      (name: string) => buildServiceToken(name, { scopes: ['users:register_or_return'], app_codes: [app.code] }),
      'HTTP 403 scope_required',
    ],
    ['a token that nobody issued', async () => 'gsa_nobody', 'HTTP 401 token_invalid'],
  ])('registerPermissions with %s is refused for good and reports it once, with the request id', async (_, tokenOf, hint) => {
    const name = unique('refused')
    const auth = boot(await tokenOf(name), manifest(name, 'read'))
    const expected = { code: 'SERVICE_REJECTED', hint, requestId: expect.stringMatching(/./), retryable: false }
    await expect(auth.registerPermissions().ready).rejects.toMatchObject(expected)
    expect(auth.events).toMatchObject([{ type: 'registration.rejected', error: expected }])
    expect(auth.health().registration).toBe('rejected')
    expect(await codesOf(name)).toEqual([])
  })

  test('registerPermissions prunes no more than maxPrune permissions', async () => {
    const name = unique('pruned')
    const token = await buildServiceToken(name)
    await boot(token, manifest(name, 'a', 'b', 'c')).registerPermissions().ready
    const shrunk = boot(token, manifest(name, 'a'))
    await expect(shrunk.registerPermissions({ mode: 'require', maxPrune: 1 }).ready).rejects.toMatchObject({
      code: 'PRUNE_LIMIT',
      hint: 'HTTP 409 prune_limit',
    })
    expect(await codesOf(name)).toHaveLength(3)
    expect(await shrunk.registerPermissions({ maxPrune: 2 }).ready).toMatchObject({ pruned: 2, unchanged: 1 })
  })
})

describe('api', () => {
  test('introspect says whether a token of this app is valid now, and returns its claims', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const { api } = boot('gsa_unused', undefined)
    const answer = await api.introspect(token)
    expect(answer).toMatchObject({ active: true, token_type: 'Bearer', uid: user.id, sub: user.id, app_code: app.code })
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    expect(await api.introspect(token)).toEqual({ active: false })
    const other = await buildUser(service, await buildApp(service, { auto_grant_on_signup: true }))
    expect(await api.introspect(other.access_token)).toEqual({ active: false })
    expect(await api.introspect('not a token')).toEqual({ active: false })
  })

  test('introspect for an unknown app is refused', async () => {
    const { api } = boot('gsa_unused', undefined, { appCode: `none-${randomUUID()}` })
    await expect(api.introspect('x')).rejects.toMatchObject({ code: 'SERVICE_REJECTED', requestId: expect.stringMatching(/./) })
  })

  // covers register-return-callers register-or-return
  test('registerOrReturn creates a user once, without tokens, and returns the same user afterwards', async () => {
    const scopes = ['users:register_or_return']
    const { api } = boot(await buildServiceToken(unique('importer'), { scopes, app_codes: [app.code] }), undefined)
    const email = `known-${randomUUID()}@example.com`
    const first = await api.registerOrReturn({ email, password: PASSWORD, first_name: 'Ada' })
    expect(first).toMatchObject({ created: true, user: { email, first_name: 'Ada' }, app: { code: app.code }, access: 'granted' })
    expect(first).not.toHaveProperty('access_token')
    const again = await api.registerOrReturn({ email, password: 'another password altogether' })
    expect(again).toMatchObject({ created: false, user: { id: first.user.id, first_name: 'Ada' } })
  })

  // covers register-return-callers
  test('registerOrReturn without the scope is refused, and the error names the status and code of the service', async () => {
    const { api } = boot(await buildServiceToken(unique('boot')), undefined)
    const user = { email: 'ada@example.com', password: PASSWORD }
    await expect(api.registerOrReturn(user)).rejects.toMatchObject({ code: 'SERVICE_REJECTED', hint: 'HTTP 403 scope_required' })
  })
})
