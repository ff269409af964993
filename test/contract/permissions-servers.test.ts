// Two servers on one Postgres, each with its own connection pool.
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, someEmail, testDatabase } from '../support/service.ts'

describe.runIf(testDatabase() === 'postgres')('permissions on two servers with one database', () => {
  let servers: [ServerInstance, ServerInstance]
  let token: string

  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    afterAll(() => database.drop())
    const settings = {
      DATABASE_URL: database.url,
      DB_POOL_MAX: '5',
      ...bootstrapAdmin,
    }
    servers = await Promise.all([startInstance(settings, onFileEnd), startInstance(settings, onFileEnd)])
    token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
  })

  const admin = (index: number, method: string, path: string, body?: object) =>
    servers[index % 2]!.call(method, path, { body, token })

  const register = (index: number, service: string, actions: readonly string[]) => {
    const permissions = actions.map((code) => {
      const [resource, action] = code.split(':')
      return { code, name: code, resource, action }
    })
    return admin(index, 'POST', '/admin/permissions/register', { service, permissions })
  }

  async function codesOf(service: string): Promise<string[]> {
    const { body } = await admin(1, 'GET', `/admin/permissions?service=${service}&limit=200`)
    return body.items.map((item: Json) => item.code).sort()
  }

  test('fifty registrations of two lists on two servers end in one list, and roles keep their codes in it', async () => {
    const service = `s-${randomUUID().slice(0, 8)}`
    const lists = [
      [`${service}:a`, `${service}:both`],
      [`${service}:b`, `${service}:both`, `${service}:c`],
    ]
    await register(
      0,
      service,
      lists.flat().filter((code, index, all) => all.indexOf(code) === index),
    )
    const role = `role-${randomUUID().slice(0, 8)}`
    await admin(0, 'POST', '/admin/roles', { code: role, name: role, scope: 'global' })
    await admin(0, 'PUT', `/admin/roles/${role}/permissions`, { permissions: [...new Set(lists.flat())] })
    for (let round = 0; round < 3; round += 1) {
      // Each list is sent to both servers.
      const replies = await atOnce(50, (index) => register(index, service, lists[Math.floor(index / 2) % 2]!))
      expect(replies.map((reply) => reply.status)).toEqual(Array(50).fill(200))
      const codes = await codesOf(service)
      expect(lists).toContainEqual(codes)
      const { items } = (await admin(0, 'GET', `/admin/roles/${role}/permissions`)).body
      expect(items.map((item: Json) => item.code)).toEqual(codes)
    }
  })

  test('one of several services that claim a code on two servers owns it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const mark = randomUUID().slice(0, 8)
      const services = Array.from({ length: 4 }, (_, index) => `s-${mark}-${index}`)
      const replies = await atOnce(4, (index) => register(index, services[index]!, [`${mark}:x`, `${services[index]}:own`]))
      expect(replies.filter((reply) => reply.status === 200)).toHaveLength(1)
      expect(replies.filter((reply) => reply.body.code === 'permission_owned_by_other_service')).toHaveLength(3)
      const owners = await Promise.all(services.map(async (service) => (await codesOf(service)).includes(`${mark}:x`)))
      expect(owners.filter(Boolean)).toHaveLength(1)
    }
  })

  test('the last system admin cannot step down, on two servers at once', async () => {
    const app = (await admin(0, 'POST', '/admin/apps', { code: `a-${randomUUID()}`, name: 'a', auto_grant_on_signup: true })).body
    for (let round = 0; round < 5; round += 1) {
      const email = someEmail()
      const { id } = (await admin(0, 'POST', '/admin/users', { email, password: PASSWORD })).body
      const login = await servers[0].call('POST', '/auth/login', { body: { email, password: PASSWORD, app_code: app.code } })
      const rolesOf = `/admin/users/${id}/roles`
      expect((await admin(0, 'POST', rolesOf, { role_code: 'system_admin' })).status).toBe(201)
      const self = (await admin(0, 'GET', `/admin/users?email=${ADMIN_EMAIL}`)).body.items[0]
      const [gone, kept] = await Promise.all([
        admin(0, 'DELETE', `${rolesOf}/system_admin`),
        servers[1].call('DELETE', `/admin/users/${self.id}/roles/system_admin`, { token: login.body.access_token }),
      ])
      // The second call is refused: it would remove the last admin, or its caller is no longer an admin.
      expect([gone.status, kept.status].filter((status) => status === 204)).toHaveLength(1)
      for (const { status, body } of [gone, kept]) if (status !== 204) expect([409, 403, 401]).toContain(body.status)
      if (kept.status === 204) {
        const back = { body: { role_code: 'system_admin' }, token: login.body.access_token }
        await servers[1].call('POST', `/admin/users/${self.id}/roles`, back)
        // The access token ended together with the role.
        token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
        await admin(0, 'DELETE', `${rolesOf}/system_admin`)
      }
    }
  })
})
