// decisions 2, SIGTERM: servers behind a balancer are restarted in turn, under load, and no request fails.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { ADMIN_EMAIL, callHttp, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { startServer } from '../support/server-process.ts'

const rounds = sized(1, 15)
const clients = 10

const bootstrap = { AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL, AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }

/** Users who log in, look and refresh through `url`, one request after the other each, until told to stop. */
function startUsers(url: string, app: string) {
  const failed: string[] = []
  const times: number[] = []
  let isOver = false
  const call = async (method: string, path: string, expected: number, options: { body?: unknown; token?: string } = {}) => {
    const started = performance.now()
    const reply = await callHttp(`${url}/api/v1${path}`, method, options).catch((error) => ({ status: 0, body: String(error) }))
    times.push(performance.now() - started)
    if (reply.status !== expected) failed.push(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const user = async () => {
    const credentials = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app }
    await call('POST', '/auth/register', 201, { body: credentials })
    while (!isOver && failed.length === 0) {
      const { access_token: token, refresh_token } = await call('POST', '/auth/login', 200, { body: credentials })
      for (let look = 0; look < 3; look += 1) await call('GET', '/auth/me', 200, { token })
      await call('POST', '/auth/refresh', 200, { body: { refresh_token } })
    }
  }
  const running = Promise.all(Array.from({ length: clients }, user))
  return {
    failed,
    times,
    async stop() {
      isOver = true
      await running
    },
  }
}

test('two servers restarted in turn under load fail no request, with a balancer that repeats refused connections alone', {
  timeout: 900_000,
}, async (context) => {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const settings = { DATABASE_URL: database.url, ...bootstrap }
  const servers = [await startServer(settings), await startServer(settings)]
  const token = (await servers[0]!.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await servers[0]!.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })

  const balancer = await startBalancer(servers.map(({ url }) => url))
  const users = startUsers(balancer.url, 'shop')
  for (let round = 0; round < rounds; round += 1) {
    for (const index of servers.keys()) {
      await sleep(300)
      const server = servers[index]!
      expect(await server.stop()).toEqual({ code: 0, signal: null })
      servers[index] = await startServer({ ...settings, PORT: new URL(server.url).port })
    }
  }
  await users.stop()
  expect(balancer.faults).toEqual([])
  expect(users.failed).toEqual([])
  expect(users.times.length).toBeGreaterThan(100)
  const slowest = Math.round(quantile(users.times, 1))
  measured(context, `${rounds * 2} restarts, ${users.times.length} requests, 0 failed, slowest ${slowest} ms`)
  for (const server of servers) expect((await server.stop()).code).toBe(0)
})
