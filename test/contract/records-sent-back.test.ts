// A record that was read can be sent back to every PATCH that changes one.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { listRoutes } from '../../packages/server/src/app.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { addMember, buildOrganization, buildRole } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildSsoProvider } from '../support/provider.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture()

/** By the route that changes it: the path of a record, a change to it, and how to read it if not with GET on its path. */
const records: Record<string, { path: () => string; change: Json; read?: () => Promise<Json> }> = {
  '/admin/apps/{appId}': { path: () => `/admin/apps/${named.app}`, change: { name: 'Other' } },
  '/admin/users/{userId}': { path: () => `/admin/users/${named.user}`, change: { last_name: 'Other' } },
  '/admin/roles/{roleCode}': { path: () => `/admin/roles/${named.role}`, change: { description: 'Other' } },
  '/admin/organizations/{organizationId}': {
    path: () => `/admin/organizations/${named.organization}`,
    change: { name: 'Other' },
  },
  '/admin/service-accounts/{serviceAccountId}': {
    path: () => `/admin/service-accounts/${named.account}`,
    read: async () => {
      const { body } = await service.admin('GET', '/admin/service-accounts')
      return body.items.find(({ id }: Json) => id === named.account)
    },
    change: { name: 'Other' },
  },
  '/admin/sso-providers/{providerCode}': { path: () => `/admin/sso-providers/${named.provider}`, change: { enabled: false } },
  '/auth/me': { path: () => '/auth/me', change: { first_name: 'Other' } },
}
const named: Record<string, string> = {}
/** These change without the caller, so they may differ when sent back. */
const volatile = ['updated_at', 'last_login_at', 'last_used_at', 'locked_until']

beforeAll(async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true, webhooks: [{ name: 'a', url: 'https://a.example' }] })
  const { user, access_token } = await buildUser(service, app)
  const organization = await buildOrganization(service)
  await addMember(service, organization.id, user.id, ['org_admin'])
  const provider = await buildSsoProvider(service, `p-${randomUUID()}`, { issuer: 'https://issuer.example' })
  Object.assign(named, { app: app.code, user: user.id, token: access_token, organization: organization.id })
  const account = await service.admin('POST', '/admin/service-accounts', { body: { name: randomUUID(), service: 'notes' } })
  Object.assign(named, { account: account.body.id, provider: provider.code, role: await buildRole(service, 'org') })
})

const call = (method: string, path: string, body?: Json) =>
  path.startsWith('/auth/') ? service.call(method, path, { body, token: named.token }) : service.admin(method, path, { body })

test('every PATCH names the record that it changes, except those that take a difference', () => {
  const differences = ['/namespaces', '/permissions']
  const patches = listRoutes().filter(({ method, path }) => method === 'PATCH' && !differences.some((end) => path.endsWith(end)))
  expect(patches.filter(({ record }) => record === undefined)).toEqual([])
  expect(patches.map(({ path }) => path).sort()).toEqual(Object.keys(records).sort())
})

describe.each(Object.entries(records))('PATCH %s', (route, { path, change, read: readRecord }) => {
  const readIt = readRecord ?? (async () => (await call('GET', path())).body)

  test('PATCH accepts the record as it was read, with a change', async () => {
    const read = await readIt()
    const { status, body } = await call('PATCH', path(), { ...read, ...change })
    expect(status).toBe(200)
    expect(route === '/auth/me' ? body.user : body).toMatchObject(change)
    expect(Object.keys(body)).toEqual(expect.arrayContaining(Object.keys(read)))
  })

  test('PATCH refuses a different value of a member that cannot be set, and then changes nothing', async () => {
    const read = await readIt()
    const declared = listRoutes().find((each) => each.method === 'PATCH' && each.path === route)
    const settable = declared?.body && 'shape' in declared.body ? Object.keys(declared.body.shape as object) : []
    const readOnly = Object.keys(read).filter((name) => !volatile.includes(name) && !settable.includes(name))
    expect(readOnly.length).toBeGreaterThan(0)
    for (const name of readOnly) {
      const reply = await call('PATCH', path(), { ...read, [name]: 'another', ...change })
      if (name === 'code') expectError(reply, 'code_immutable')
      else expect(faultsOf(reply), name).toEqual([`${name}: invalid_value`])
    }
    expect(await readIt()).toMatchObject(read)
  })
})
