// While its database is down the service answers 503 and never rejects a good token. It recovers without help.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { ADMIN_EMAIL, bootstrapAdmin, callHttp, PASSWORD } from '../support/client.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startPostgres } from '../support/postgres.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const rounds = sized(2, 20)
const clients = 8
/** After the database is back, the service must work again within this time. */
const backMs = 5_000
/** The longest time that a caller may wait for a 503. */
const answerMs = 5_000

interface Answer {
  what: string
  status: number
  code: string | undefined
  sentAt: number
  at: number
}

/** Runs users who keep calling "who am I", refresh and login, and repeat what was answered with 503. */
function startUsers(server: ServerProcess) {
  const answers: Answer[] = []
  const clock = startPatientClock()
  let isOver = false
  const call = async (method: string, path: string, options: { body?: unknown; token?: string } = {}) => {
    const sentAt = clock()
    const reply = await server.call(method, path, options)
    answers.push({ what: `${method} ${path}`, status: reply.status, code: reply.body?.code, sentAt, at: clock() })
    if (![200, 201, 503].includes(reply.status)) isOver = true
    return reply
  }
  const insist = async (path: string, body: unknown) => {
    for (;;) {
      const reply = await call('POST', path, { body })
      if (reply.status !== 503) return reply.body
      await sleep(20)
    }
  }
  const user = async () => {
    const credentials = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'shop' }
    await insist('/auth/register', credentials)
    let pair = await insist('/auth/login', credentials)
    while (!isOver) {
      await call('GET', '/auth/me', { token: pair.access_token })
      pair = await insist('/auth/refresh', { refresh_token: pair.refresh_token })
      await call('GET', '/health')
      await sleep(5)
    }
  }
  const running = Promise.all(Array.from({ length: clients }, user))
  return {
    answers,
    clock,
    async stop() {
      isOver = true
      await running
    },
  }
}

/** Turns on synchronous commits. To be fast, the tests' Postgres normally loses its last commits in a crash. */
async function keepCommits(databaseUrl: string): Promise<void> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    await db.raw('alter system set synchronous_commit = on')
    await db.raw('select pg_reload_conf()')
  } finally {
    await db.destroy()
  }
}

test.runIf(process.env.TEST_DATABASE_URL === undefined)(
  'a restart of Postgres under load gives 503 only while it is away and no false 401, and is over within 5 s',
  { timeout: 600_000 },
  async (context) => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    await keepCommits(postgres.adminUrl)
    const server = await startServer({
      DATABASE_URL: postgres.adminUrl,
      ...bootstrapAdmin,
      AUTH_REFRESH_LEEWAY_SECONDS: '120',
    })
    const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
    await server.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })
    const users = startUsers(server)
    const outages: { from: number; until: number; back: number }[] = []
    for (let round = 0; round < rounds; round += 1) {
      const before = users.answers.length
      await expect.poll(() => users.answers.length, { interval: 10 }).toBeGreaterThan(before + 100)
      const from = users.clock()
      await postgres.halt(round % 2 === 0 ? 'fast' : 'immediate')
      expect((await server.call('GET', '/ready')).status).toBe(503)
      await postgres.resume()
      const until = users.clock()
      await expect.poll(async () => (await callHttp(`${server.url}/api/v1/ready`, 'GET')).status, { interval: 10 }).toBe(200)
      await expect
        .poll(() => users.answers.filter(({ status, sentAt }) => status === 200 && sentAt > until).length)
        .toBeGreaterThan(50)
      const lastFailure = Math.max(
        until,
        ...users.answers.filter(({ status, at }) => status === 503 && at > from).map(({ at }) => at),
      )
      outages.push({ from, until, back: lastFailure - until })
    }
    await users.stop()
    const { answers } = users
    const unexpected = answers.filter(({ status }) => ![200, 201, 503].includes(status))
    expect(unexpected).toEqual([])
    expect(answers.filter(({ what, status }) => what === 'GET /health' && status !== 200)).toEqual([])
    const unavailable = answers.filter(({ status }) => status === 503)
    expect(unavailable.length).toBeGreaterThan(0)
    const during = ({ sentAt, at }: Answer) => outages.some(({ from, until }) => at >= from && sentAt <= until + backMs)
    expect(unavailable.filter((answer) => !during(answer))).toEqual([])
    const slowest = Math.max(...unavailable.map(({ sentAt, at }) => at - sentAt))
    expect(slowest).toBeLessThan(answerMs)
    const back = outages.map(({ back }) => back)
    expect(Math.max(...back)).toBeLessThan(backMs)
    measured(
      context,
      `${rounds} restarts, ${answers.length} answers, ${unavailable.length} of them 503 (slowest ${Math.round(slowest)} ms), 0 others; last 503 at most ${Math.round(quantile(back, 1))} ms after Postgres was back`,
    )
    expect((await server.stop()).code).toBe(0)
  },
)
