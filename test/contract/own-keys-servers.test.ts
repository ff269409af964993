// Keys of apps on two servers with one Postgres: a step taken on one server applies on the other from the very next request.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ACCESS_SECRET, ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, testDatabase } from '../support/service.ts'

describe.runIf(testDatabase() === 'postgres')('own keys on two servers with one database', () => {
  let one: ServerInstance
  let two: ServerInstance
  let settings: Record<string, string>
  let token: string
  const user = { email: `${randomUUID()}@example.com`, password: PASSWORD }

  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    onFileEnd(() => database.drop())
    settings = { DATABASE_URL: database.url, ...bootstrapAdmin }
    ;[one, two] = await Promise.all([startInstance(settings, onFileEnd), startInstance(settings, onFileEnd)])
    token = (await one.login(ADMIN_EMAIL, 'authctl')).body.access_token
    for (const code of ['shop', 'desk']) {
      await one.call('POST', '/admin/apps', { token, body: { code, name: code, auto_grant_on_signup: true } })
      await one.call('POST', '/auth/register', { body: { ...user, app_code: code, mode: 'register_or_login' } })
    }
  })

  const login = async (server: ServerInstance, app = 'shop'): Promise<Json> =>
    (await server.call('POST', '/auth/login', { body: { ...user, app_code: app } })).body
  const step = async (name: string, server = one): Promise<void> => {
    const query = name === 'finish' ? '?force=true' : ''
    const { status, body } = await server.call('POST', `/admin/apps/shop/signing${query}`, { token, body: { step: name } })
    expect([name, status, body.code]).toEqual([name, 200, undefined])
  }
  const meAt = async (server: ServerInstance, bearer: string) => (await server.call('GET', '/auth/me', { token: bearer })).status
  const kidIn = (bearer: string) => JSON.parse(Buffer.from(bearer.split('.')[0]!, 'base64url').toString()).kid

  test('a token signed by one server with a new key is accepted by the other at once, until the key is finished', async () => {
    for (let round = 0; round < 6; round += 1) {
      const before = (await login(two)).access_token
      await step('prepare', round % 2 === 0 ? one : two)
      expect(kidIn((await login(two)).access_token)).toBe(kidIn(before))
      await step('switch', round % 2 === 0 ? one : two)
      const after = (await login(one)).access_token
      expect(kidIn(after)).not.toBe(kidIn(before))
      for (const server of [two, one]) for (const bearer of [before, after]) expect(await meAt(server, bearer)).toBe(200)
      await step('finish', round % 2 === 0 ? one : two)
      for (const server of [two, one]) expect([await meAt(server, before), await meAt(server, after)]).toEqual([401, 200])
    }
  })

  test('a server accepts a token of a new key even if it has not yet seen the key', async () => {
    expect(await meAt(two, (await login(two)).access_token)).toBe(200)
    await step('prepare')
    await step('switch')
    expect(await meAt(two, (await login(one)).access_token)).toBe(200)
    await step('finish')
  })

  test('no request of any app fails while users work on both servers during a change of key', async () => {
    let isOver = false
    const failures: string[] = []
    const work = async (server: ServerInstance, app: string) => {
      const { access_token, ...first } = await login(server, app)
      let refresh_token = first.refresh_token
      for (let bearer: string = access_token; !isOver; ) {
        const me = await server.call('GET', '/auth/me', { token: bearer })
        const other = await (server === one ? two : one).call('GET', '/auth/me', { token: bearer })
        const refreshed = await server.call('POST', '/auth/refresh', { body: { refresh_token } })
        for (const { status, body } of [me, other, refreshed]) if (status !== 200) failures.push(`${app}: ${status} ${body.code}`)
        ;({ access_token: bearer, refresh_token } = refreshed.body)
      }
    }
    const workers = [work(one, 'shop'), work(two, 'shop'), work(one, 'desk'), work(two, 'desk')]
    for (let round = 0; round < 3; round += 1) {
      for (const name of ['prepare', 'abort', 'prepare', 'switch', 'abort', 'switch']) await step(name)
      // Workers end before `finish` and start again after it, with new tokens, as if the life of an access token had passed.
      const [seen] = await Promise.all([login(one), login(two), login(one, 'desk')])
      expect(seen.access_token).toBeDefined()
      isOver = true
      await Promise.all(workers.splice(0))
      await step('finish')
      isOver = false
      workers.push(work(one, 'shop'), work(two, 'shop'), work(one, 'desk'), work(two, 'desk'))
    }
    isOver = true
    await Promise.all(workers)
    expect(failures).toEqual([])
  })

  test('a change of the shared secret changes no own key', async () => {
    const own = (await login(one)).access_token
    const shared = (await login(one, 'desk')).access_token
    const rotated = await startInstance({
      ...settings,
      JWT_ACCESS_SECRET: 'the secret after that one, at least 32 characters long',
      JWT_ACCESS_SECRET_PREVIOUS: ACCESS_SECRET,
    })
    for (const bearer of [own, shared]) expect(await meAt(rotated, bearer)).toBe(200)
    expect(kidIn((await login(rotated)).access_token)).toBe(kidIn(own))
    expect(kidIn((await login(rotated, 'desk')).access_token)).not.toBe(kidIn(shared))
    expect(await meAt(one, (await login(rotated)).access_token)).toBe(200)
  })
})
