// What servers keep in memory about apps and permissions. Two servers on one Postgres, each with its own connection pool.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, claimsOf, type Json, PASSWORD, testDatabase } from '../support/service.ts'

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  let one: ServerInstance
  let two: ServerInstance
  let token: string
  let app: Json
  const user = { email: `${randomUUID()}@example.com`, password: PASSWORD }

  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onFileEnd(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      ...bootstrapAdmin,
    }
    ;[one, two] = await Promise.all([startInstance(settings, onFileEnd), startInstance(settings, onFileEnd)])
    token = (await one.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true, service_codes: ['stock'] }
    app = (await one.call('POST', '/admin/apps', { token, body })).body
    await one.call('POST', '/auth/register', { body: { ...user, app_code: app.code } })
  })

  const login = (server: ServerInstance) => server.call('POST', '/auth/login', { body: { ...user, app_code: app.code } })
  const change = (body: object) => one.call('PATCH', `/admin/apps/${app.code}`, { token, body })

  test('a server refuses an app at the next login after another made it inactive, and admits it again when active', async () => {
    for (let round = 0; round < 20; round += 1) {
      await change({ status: 'inactive' })
      expect((await login(two)).body.code).toBe('app_inactive')
      await change({ status: 'active' })
      expect((await login(two)).status).toBe(200)
    }
  })

  test('a refresh at another server returns the current permissions', async () => {
    let { refresh_token } = (await login(two)).body
    for (const actions of [['read'], ['read', 'write'], []]) {
      const permissions = actions.map((action) => ({ code: `items:${action}`, name: action, resource: 'items', action }))
      await one.call('POST', '/admin/permissions/register', { token, body: { service: 'stock', permissions } })
      const { body } = await two.call('POST', '/auth/refresh', { body: { refresh_token } })
      refresh_token = body.refresh_token
      const codes: string[] = claimsOf(body.access_token).permissions
      expect(codes.filter((code) => code.startsWith('items:'))).toEqual(permissions.map(({ code }) => code))
    }
  })
})
