// How many statements a request costs, including each begin and commit. On Postgres each is a round trip.
import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { buildApp, buildService, type Json, PASSWORD, type Reply, type TestService, testDatabase } from '../support/service.ts'
import { askFor, exchange, signInOnPage, visit } from '../support/sign-in-page.ts'

/** The exact cost of each request. Lower it when a change makes a request cheaper. */
const costs = {
  postgres: {
    login: 10,
    'login, wrong password': 5,
    'login, nobody has the address': 5,
    refresh: 2,
    'refresh, the answer was lost': 2,
    me: 1,
    logout: 2,
    register: 10,
    'email code, asked for': 7,
    'email code, asked for nobody': 7,
    'email code, wrong': 5,
    'email code, wrong for nobody': 5,
    'silent entry': 3,
    'exchange of its code': 7,
  },
  sqlite: {
    login: 11,
    'login, wrong password': 5,
    'login, nobody has the address': 5,
    refresh: 7,
    'refresh, the answer was lost': 2,
    me: 1,
    logout: 6,
    register: 16,
    'email code, asked for': 7,
    'email code, asked for nobody': 7,
    'email code, wrong': 5,
    'email code, wrong for nobody': 5,
    'silent entry': 3,
    'exchange of its code': 7,
  },
}
type Measured = keyof (typeof costs)['postgres']

interface CountedService {
  service: TestService
  statements(): number
}

/** Counts the replies of Postgres, whatever sent the statements. */
async function buildOnPostgres(): Promise<CountedService> {
  const database = await createDatabase('postgres', inject('templates'))
  onFileEnd(() => database.drop())
  const proxy = await startPostgresProxy(database.url, onFileEnd)
  const service = await buildService({ DATABASE_URL: proxy.url, DB_POOL_MAX: '1' }, onFileEnd)
  return { service, statements: proxy.roundTrips }
}

/** Counts the statements on the one connection: each run calls `prepare`. */
async function buildOnSqlite(): Promise<CountedService> {
  const service = await buildService({}, onFileEnd)
  const { client } = service.deps.db
  const connection = await client.acquireConnection()
  const prepare = connection.prepare
  let statements = 0
  connection.prepare = (sql: string) => {
    statements += 1
    return prepare(sql)
  }
  client.releaseConnection(connection)
  return { service, statements: () => statements }
}

describe('statements of a request', () => {
  let service: TestService
  let statements: () => number
  let app: Json

  beforeAll(async () => {
    const counted = await (testDatabase() === 'postgres' ? buildOnPostgres() : buildOnSqlite())
    service = counted.service
    statements = counted.statements
    app = await buildApp(service, { auto_grant_on_signup: true })
    // Opens the connection and fills the caches.
    await service.register('first@example.com', app.code)
  })

  const post = (path: string, body: object): Promise<Reply> => service.call('POST', path, { body })
  const login = (email: string, password = PASSWORD) => post('/auth/login', { email, password, app_code: app.code })

  test('each request takes as many statements as the table says', async () => {
    const measured: Record<string, number> = {}
    const measure = async (what: Measured, status: number, run: () => Promise<Reply>): Promise<Json> => {
      const before = statements()
      const reply = await run()
      measured[what] = statements() - before
      expect(reply.status, what).toBe(status)
      return reply.body
    }
    const email = `user-${randomUUID()}@example.com`
    await measure('register', 201, () => service.register(email, app.code))
    const { access_token: token, refresh_token } = await measure('login', 200, () => login(email))
    await measure('login, wrong password', 401, () => login(email, 'a wrong password'))
    await measure('login, nobody has the address', 401, () => login(`nobody-${randomUUID()}@example.com`))
    await measure('me', 200, () => service.call('GET', '/auth/me', { token }))
    const next = await measure('refresh', 200, () => post('/auth/refresh', { refresh_token }))
    await measure('refresh, the answer was lost', 200, () => post('/auth/refresh', { refresh_token }))
    await measure('logout', 204, () => post('/auth/logout', { refresh_token: next.refresh_token }))
    const askForCode = (email: string) => post('/auth/email-code', { email, app_code: app.code })
    const guess = (request_id: string) => post('/auth/email-code/consume', { request_id, code: 'wrong' })
    const { request_id: ofUser } = await measure('email code, asked for', 202, () => askForCode(email))
    const nobody = `nobody-${randomUUID()}@example.com`
    const { request_id: ofNobody } = await measure('email code, asked for nobody', 202, () => askForCode(nobody))
    await measure('email code, wrong', 401, () => guess(ofUser))
    await measure('email code, wrong for nobody', 401, () => guess(ofNobody))
    const page: Json = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/cb'] })
    const visitor = visit(service)
    await service.login(email, page.code)
    await signInOnPage(visitor, askFor(page), email)
    const asked = askFor(page)
    let at: URL | undefined
    await measure('silent entry', 303, async () => {
      const { app, headers } = await visitor.get(asked.path)
      at = app
      return { status: 303, body: {}, headers }
    })
    await measure('exchange of its code', 200, () => exchange(service, page, asked, at))
    expect(measured).toEqual(costs[testDatabase()])
  })
})
