// Without a free connection the service answers 503 in time, and it runs no more statements on Postgres than it has connections.
import { expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const poolMax = 2
const callers = sized(20, 60)
const waves = sized(2, 12)
const answerMs = 5_000

async function startStarved() {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const server = await startServer({ DATABASE_URL: database.url, DB_POOL_MAX: String(poolMax), ...bootstrapAdmin })
  const operator = createKnex({ databaseUrl: database.url, dbPoolMax: 2 })
  // Not awaited: a failed test may leave the table locked, and a pool closes only once all of its connections are back.
  onTestFinished(() => void operator.destroy())
  const { access_token: token } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  return { server, operator, token }
}

/** Counts the service's statements that are running or waiting in Postgres. */
async function countAtWork(operator: ReturnType<typeof createKnex>): Promise<number> {
  const [row] = await operator('pg_stat_activity')
    .where({ application_name: 'gatehouse', state: 'active', datname: operator.raw('current_database()') })
    .count({ count: '*' })
  return Number(row?.count)
}

async function timed(server: ServerProcess, token: string) {
  const clock = startPatientClock()
  const { status } = await server.call('GET', '/auth/me', { token })
  return { status, ms: clock() }
}

test('a locked table gives 503 within 5 s and leaves nothing at work in Postgres, and the next request is served', {
  timeout: 300_000,
}, async (context) => {
  const { server, operator, token } = await startStarved()
  const held = await operator.transaction()
  await held.raw('lock table users in access exclusive mode')
  const slowest: number[] = []
  const atWork: number[] = []
  for (let wave = 0; wave < waves; wave += 1) {
    const answers = await atOnce(callers, () => timed(server, token))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    slowest.push(Math.max(...answers.map(({ ms }) => ms)))
    expect((await server.call('GET', '/health')).status).toBe(200)
    // A statement that was given up a moment ago may still be ending.
    await expect.poll(() => countAtWork(operator), { interval: 20 }).toBeLessThanOrEqual(poolMax)
    atWork.push(await countAtWork(operator))
  }
  expect(Math.max(...slowest)).toBeLessThan(answerMs)
  expect(Math.max(...atWork)).toBeLessThanOrEqual(poolMax)
  await held.rollback()
  expect((await timed(server, token)).status).toBe(200)
  measured(
    context,
    `${waves * callers} requests through ${poolMax} connections: all 503, slowest ${Math.round(quantile(slowest, 1))} ms; at most ${Math.max(...atWork)} statements at work in Postgres; 200 at once afterwards`,
  )
})

test('more callers than connections are each served or get 503 within 5 s, and are refused for no other reason', {
  timeout: 300_000,
}, async (context) => {
  const { server, token } = await startStarved()
  const answers = (await atOnce(sized(100, 1_000), () => timed(server, token))).flat()
  expect(answers.filter(({ status }) => status !== 200 && status !== 503)).toEqual([])
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
  const slowest = Math.max(...answers.map(({ ms }) => ms))
  expect(slowest).toBeLessThan(answerMs)
  expect((await timed(server, token)).status).toBe(200)
  const served = answers.filter(({ status }) => status === 200).length
  measured(
    context,
    `${answers.length} at once through ${poolMax} connections: ${served} served, the others 503; slowest ${Math.round(slowest)} ms`,
  )
})
