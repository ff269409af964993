import { beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce } from '../support/chance.ts'
import { assertionOf, openEventStream } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { startPgBouncer } from '../support/pgbouncer.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, claimsOf, type Json, PASSWORD, someEmail, testDatabase } from '../support/service.ts'

const connections = 3
const app = { code: 'shop' }
const settings = {
  DB_POOL_MAX: '5',
  AUTH_RATE_LIMIT_ACCOUNT: 'off',
  ...bootstrapAdmin,
}
/** For the first run on a machine, which fetches PgBouncer. */
const startTimeoutMs = 120_000

describe.runIf(testDatabase() === 'postgres')('two servers behind PgBouncer', () => {
  let servers: [ServerInstance, ServerInstance]
  let adminToken: string
  let databaseUrl: string
  let obstacle: string | undefined

  beforeAll(async () => {
    const pgbouncer = await startPgBouncer(inject('templates').postgres!.adminUrl, { connections }).catch((error: Error) => {
      obstacle = error.message
      process.stderr.write(`[gatehouse] tests behind PgBouncer are skipped: ${obstacle}\n`)
    })
    if (!pgbouncer) return
    const database = await createDatabase('postgres', inject('templates'))
    onFileEnd(() => database.drop())
    onFileEnd(() => pgbouncer.stop())
    databaseUrl = pgbouncer.urlOf(database.url)
    const start = () => startInstance({ ...settings, DATABASE_URL: databaseUrl }, onFileEnd)
    servers = await Promise.all([start(), start()])
    adminToken = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { ...app, name: 'Shop', auto_grant_on_signup: true }
    await servers[0].call('POST', '/admin/apps', { body, token: adminToken })
  }, startTimeoutMs)
  beforeEach(({ skip }) => {
    if (obstacle !== undefined) skip(obstacle)
  })

  const admin = (index: number, method: string, path: string, body?: object) =>
    servers[index % 2]!.call(method, path, { body, token: adminToken })
  const refresh = (index: number, refresh_token: string) =>
    servers[index % 2]!.call('POST', '/auth/refresh', { body: { refresh_token } })
  const me = (index: number, token: string) => servers[index % 2]!.call('GET', '/auth/me', { token })

  async function newUser(index = 0): Promise<Json> {
    const body = { email: someEmail(), password: PASSWORD, app_code: app.code }
    const reply = await servers[index % 2]!.call('POST', '/auth/register', { body })
    expect(reply.status).toBe(201)
    return reply.body
  }

  test('a user registers, signs in, refreshes and signs out, each step on the other server', async () => {
    const { user } = await newUser(0)
    const entered = await servers[1].login(user.email, app.code)
    expect(entered.status).toBe(200)
    const refreshed = await refresh(0, entered.body.refresh_token)
    expect(refreshed.status).toBe(200)
    expect((await me(1, refreshed.body.access_token)).body.user.id).toBe(user.id)
    const { refresh_token } = refreshed.body
    expect((await servers[0].call('POST', '/auth/logout', { body: { refresh_token } })).status).toBe(204)
    expect((await refresh(1, refresh_token)).body.code).toBe('invalid_refresh_token')
    expect((await me(0, refreshed.body.access_token)).body.code).toBe('token_revoked')
  })

  test('a hundred concurrent logins, some of them failing, all get their own answers', async () => {
    const users = await Promise.all([0, 1, 2, 3, 4].map(newUser))
    const replies = await atOnce(100, (index) => {
      const { email } = users[index % 5].user
      return servers[index % 2]!.login(email, app.code, index % 4 === 0 ? 'a wrong password' : PASSWORD)
    })
    const expected = replies.map((_, index) => (index % 4 === 0 ? 'invalid_credentials' : users[index % 5].user.id))
    expect(replies.map(({ status, body }) => (status === 200 ? claimsOf(body.access_token).uid : body.code))).toEqual(expected)
  })

  test('forty concurrent refreshes with one token on both servers get the same successor', async () => {
    const { refresh_token } = await newUser()
    const replies = await atOnce(40, (index) => refresh(index, refresh_token))
    expect(replies.map(({ status }) => status)).toEqual(Array(40).fill(200))
    expect(new Set(replies.map(({ body }) => body.refresh_token)).size).toBe(1)
  })

  test('named statements are not prepared, since each may run on another connection', async () => {
    const db = createKnex({ databaseUrl, dbPoolMax: 8 })
    onTestFinished(() => db.destroy())
    const answers = await atOnce(80, async (index) => {
      const query = db.raw('select cast(? as integer) as it, pg_sleep(0.002)', [index]).options({ name: 'some' })
      return (await query).rows[0].it
    })
    expect(answers).toEqual(Array.from({ length: 80 }, (_, index) => index))
  })

  test('both servers log that they poll for revocations each second', async () => {
    for (const server of servers) {
      const said = (text: string) => server.lines().filter((line) => line.includes(text))
      await expect.poll(() => said('"msg":"LISTEN delivers nothing')).toHaveLength(1)
      expect(said('"msg":"receiving revocations')).toEqual([])
    }
  })

  test('revocations by either server reach the consumers of both', async () => {
    const open = (server: ServerInstance) => openEventStream(`${server.url}/api/v1/revocations/stream`, assertionOf(app))
    const streams = await Promise.all(servers.map(open))
    for (let repeat = 0; repeat < 4; repeat += 1) {
      const { user, access_token } = await newUser(repeat)
      expect((await admin(repeat, 'DELETE', `/admin/users/${user.id}/apps/${app.code}`)).status).toBe(200)
      expect((await me(repeat + 1, access_token)).body.code).toBe('token_revoked')
      await Promise.all(streams.map((stream) => stream.next(({ data }) => data.user_id === user.id)))
    }
  })

  test('admin lists can be read page by page from either server', async () => {
    const known = await Promise.all([0, 1, 2].map(newUser))
    const seen: string[] = []
    let cursor: string | null = ''
    for (let page = 0; cursor !== null; page += 1) {
      const { status, body } = await admin(page, 'GET', `/admin/users?limit=2${cursor && `&cursor=${cursor}`}`)
      expect(status).toBe(200)
      seen.push(...body.items.map(({ id }: Json) => id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual([...new Set(seen)])
    for (const { user } of known) expect(seen).toContain(user.id)
    for (const path of ['apps', 'organizations', 'roles', 'permissions', 'namespaces', 'audit', 'service-accounts']) {
      expect((await admin(1, 'GET', `/admin/${path}?limit=1`)).status).toBe(200)
    }
  })

  test('a server behind PgBouncer is ready, and stops in good order', async () => {
    expect((await servers[1].call('GET', '/ready')).status).toBe(200)
    await servers[1].stop()
    expect(servers[1].lines().at(-1)).toContain('"msg":"stopped"')
  })
})
