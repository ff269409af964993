// The typed client of the SDK against the real service.
import { createAdmin } from '@gatehouse/sdk/admin'
import { beforeAll, expect, test } from 'vitest'
import { serviceFixture } from '../support/fixtures.ts'
import { ADMIN_EMAIL, unique } from '../support/service.ts'

const service = serviceFixture()
// The first call as an admin creates the account.
beforeAll(() => service.admin('GET', '/admin/apps'))

const asAdmin = () =>
  createAdmin({
    authUrl: `${service.url}/api/v1`,
    token: async () => (await service.login(ADMIN_EMAIL, 'authctl')).body.access_token,
  })

test('an admin creates, finds and changes an app with the types of the API document', async () => {
  const admin = asAdmin()
  const code = unique('app')
  const made = await admin.POST('/api/v1/admin/apps', { body: { code, name: 'Notes' } })
  expect(made.response.status).toBe(201)
  const params = { path: { appId: code } }
  const changed = await admin.PATCH('/api/v1/admin/apps/{appId}', { params, body: { name: 'New notes' } })
  expect(changed.data?.name satisfies string | undefined).toBe('New notes')
  const listed = await admin.GET('/api/v1/admin/apps', { params: { query: { limit: 200 } } })
  expect(listed.data?.items.find((app) => app.code === code)).toMatchObject({ name: 'New notes' })
})

test('a refused call returns the answer of the service with its error code', async () => {
  const { data, error, response } = await asAdmin().GET('/api/v1/admin/apps/{appId}', {
    params: { path: { appId: unique('none') } },
  })
  expect([data, response.status, error?.code]).toEqual([undefined, 404, 'not_found'])
  const stranger = createAdmin({ authUrl: service.url, token: 'gsa_unknown' })
  expect((await stranger.GET('/api/v1/admin/apps')).error?.code).toBe('token_invalid')
})
