// An admin who makes the tokens of an app long is warned, but not refused.
import { beforeAll, describe, expect, test } from 'vitest'
import { unique } from '../support/client.ts'
import { buildRole, registerPermissions } from '../support/factories.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture({ AUTH_TOKEN_WARN_BYTES: '4000' })

const many = (service: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${service}-${index}:read-everything`)
const declared = (codes: readonly string[]) =>
  codes.map((code) => ({ code, name: code, resource: code.split(':')[0], action: code.split(':')[1] }))
const register = (name: string, codes: readonly string[], query = '') =>
  service.admin('POST', `/admin/permissions/register${query}`, { body: { service: name, permissions: declared(codes) } })
const show = async (app: Json) => (await service.admin('GET', `/admin/apps/${app.code}`)).body

let large: string
beforeAll(async () => {
  large = unique('large')
  await registerPermissions(service, large, many(large, 120))
})

async function actualBytes(app: Json, userId: string): Promise<number> {
  const { body } = await service.admin('GET', `/admin/explain?user_id=${userId}&app=${app.code}`)
  return body.token_bytes
}

describe('permission_scope services', () => {
  test('creating, changing and showing an app and registering permissions warn of a token that is too large', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true, service_codes: [large] })
    const warning = { app: app.code, projected_token_bytes: expect.any(Number) }
    expect(app.warnings).toEqual([warning])
    expect((await show(app)).warnings).toEqual([warning])
    const patch = (body: Json) => service.admin('PATCH', `/admin/apps/${app.code}`, { body })
    expect((await patch({ service_codes: [large] })).body.warnings).toEqual([warning])
    expect((await patch({ name: 'Other' })).body).not.toHaveProperty('warnings')
    for (const query of ['?dry_run=true', ''])
      expect((await register(large, many(large, 120), query)).body.warnings).toContainEqual(warning)

    const { user } = await buildUser(service, app)
    const [{ projected_token_bytes: projected }] = (await show(app)).warnings
    expect(Math.abs(projected - (await actualBytes(app, user.id)))).toBeLessThan(200)

    expect((await patch({ permission_scope: 'roles' })).body).not.toHaveProperty('warnings')
    expect((await patch({ permission_scope: 'services', service_codes: [] })).body).not.toHaveProperty('warnings')
    expect(await show(app)).not.toHaveProperty('warnings')
  })

  test('an app with few permissions gets no warning, and a service warns of its own apps only', async () => {
    const app = await buildApp(service)
    expect(app).not.toHaveProperty('warnings')
    expect((await register(app.code, many(app.code, 3))).body).not.toHaveProperty('warnings')
    await buildApp(service, { service_codes: [large] })
    expect((await register(app.code, many(app.code, 4))).body).not.toHaveProperty('warnings')
  })
})

test('permission_scope roles counts the largest single role, and only the permissions of the services of the app', async () => {
  const [one, other] = [await buildRole(service, 'global'), await buildRole(service, 'org')]
  const app = await buildApp(service, { service_codes: [large], permission_scope: 'roles' })
  const unrelated = await buildApp(service, { permission_scope: 'roles' })
  const give = async (method: string, role: string, permissions: readonly string[]) => {
    const { body } = await service.admin(method, `/admin/roles/${role}/permissions`, { body: { permissions } })
    return (body.warnings ?? []).map(({ app }: Json) => app)
  }
  expect(await give('PUT', one, many(large, 60))).toEqual([])
  expect(await give('POST', other, many(large, 60))).toEqual([])
  expect(await give('POST', one, many(large, 120))).toEqual([app.code])
  expect(await show(unrelated)).not.toHaveProperty('warnings')
  expect(await give('PUT', one, [])).toEqual([])
})

test('a token that is larger than the default header limit of Node reaches the service', async () => {
  const headers = { 'x-filler': 'x'.repeat(60_000) }
  expect((await service.call('GET', '/health', { headers })).status).toBe(200)
})
