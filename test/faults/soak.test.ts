// Hours of use do not leak anything: at about 70 % of full load, memory and file descriptors do not grow.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { chance } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { countFiles, residentMiB, tellsOfProcesses } from '../support/process-figures.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const soakSeconds = sized(5, 600)
/** V8, the Postgres client and the C library reach their memory size within minutes. */
const warmUpSeconds = sized(3, 300)
const fullLoadSeconds = sized(1, 20)
const share = 0.7
const users = 20
const looksPerSecond = 4
/** The growth that is allowed after the short warm-up; in the long form, the growth per hour by the slope. */
const mostGrowthMiB = sized(60, 20)
const moreFiles = 30

interface User {
  credentials: { email: string; password: string; app_code: string }
  pair: { access_token: string; refresh_token: string }
}

async function prepare(server: ServerProcess): Promise<User[]> {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await server.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })
  return Promise.all(
    Array.from({ length: users }, async () => {
      const credentials = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'shop' }
      const { body: pair } = await server.call('POST', '/auth/register', { body: credentials })
      return { credentials, pair }
    }),
  )
}

/** Performs a user's next action: mostly "who am I", sometimes a refresh, a login, a wrong password or a new registration. */
async function act(server: ServerProcess, user: User, draw: number): Promise<void> {
  const { credentials } = user
  const post = async (path: string, body: object, expected: number) => {
    const reply = await server.call('POST', path, { body })
    expect({ path, status: reply.status, code: reply.body.code }).toMatchObject({ path, status: expected })
    return reply.body
  }
  if (draw < 0.7) {
    const { status } = await server.call('GET', '/auth/me', { token: user.pair.access_token })
    // A token may expire during a long soak. Renew it as any client would.
    if (status === 401) user.pair = await post('/auth/refresh', { refresh_token: user.pair.refresh_token }, 200)
    else expect(status).toBe(200)
  } else if (draw < 0.85) user.pair = await post('/auth/refresh', { refresh_token: user.pair.refresh_token }, 200)
  else if (draw < 0.94) user.pair = await post('/auth/login', credentials, 200)
  else if (draw < 0.96)
    await post('/auth/login', { ...credentials, email: `${randomUUID()}@example.com`, password: 'wrong' }, 401)
  else await post('/auth/register', { ...credentials, email: `${randomUUID()}@example.com` }, 201)
}

/**
 * Sends requests for `seconds`, one at a time per user: `perSecond` in total, or as many as possible
 * without it. Returns their times in milliseconds.
 */
async function useFor(server: ServerProcess, people: readonly User[], seconds: number, perSecond?: number): Promise<number[]> {
  const started = performance.now()
  const end = started + seconds * 1_000
  const dice = chance(seconds)
  const times: number[] = []
  let taken = 0
  const use = async (user: User) => {
    while (performance.now() < end) {
      if (perSecond !== undefined) await sleep(Math.max(0, started + (taken++ * 1_000) / perSecond - performance.now()))
      const asked = performance.now()
      await act(server, user, dice.next())
      times.push(performance.now() - asked)
    }
  }
  await Promise.all(people.map(use))
  return times
}

/** Samples the memory and files of a process until `stop`. */
function watch(pid: number) {
  const seen: { second: number; mib: number; files: number }[] = []
  const started = performance.now()
  const timer = setInterval(() => {
    seen.push({ second: (performance.now() - started) / 1_000, mib: residentMiB(pid), files: countFiles(pid) })
  }, 1_000 / looksPerSecond)
  onTestFinished(() => clearInterval(timer))
  return {
    seen,
    stop: () => clearInterval(timer),
  }
}

/** The growth per second, by least squares. */
function slope(points: readonly { second: number; mib: number }[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(({ second }) => second)), mean(points.map(({ mib }) => mib))]
  const over = points.reduce((sum, { second, mib }) => sum + (second - x) * (mib - y), 0)
  return over / points.reduce((sum, { second }) => sum + (second - x) ** 2, 0)
}

test.runIf(tellsOfProcesses)(
  'memory and descriptors stay flat in a soak at 70 % load, and every request is answered as it has to be',
  {
    timeout: 1_200_000,
  },
  async (context) => {
    const database = await createDatabase('postgres')
    onTestFinished(() => database.drop())
    const server = await startServer({
      // `deploy/` starts the server with the same setting.
      MALLOC_ARENA_MAX: '1',
      DATABASE_URL: database.url,
      ...bootstrapAdmin,
      AUTH_RATE_LIMIT_ACCOUNT: 'off',
    })
    const people = await prepare(server)
    const full = (await useFor(server, people, fullLoadSeconds)).length / fullLoadSeconds
    const pace = full * share
    await useFor(server, people, warmUpSeconds, pace)
    const watched = watch(server.pid)
    const times = await useFor(server, people, soakSeconds, pace)
    watched.stop()

    const { seen } = watched
    const half = Math.floor(seen.length / 2)
    const median = (points: typeof seen) =>
      quantile(
        points.map(({ mib }) => mib),
        0.5,
      )
    const grown = sized(median(seen.slice(half)) - median(seen.slice(0, half)), slope(seen) * 3_600)
    const growth = sized(`${Math.round(grown)} MiB more in the second half`, `${grown.toFixed(1)} MiB an hour by the slope`)
    const files = seen.map((look) => look.files)
    measured(
      context,
      `${times.length} requests in ${soakSeconds} s (${Math.round(pace)} a second, ${Math.round(full)} at full load), p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms; ${Math.round(median(seen))} MiB, ${growth}; descriptors ${Math.min(...files)} to ${Math.max(...files)}`,
    )
    expect(grown).toBeLessThan(mostGrowthMiB)
    expect(Math.max(...files) - Math.min(...files)).toBeLessThan(moreFiles)
    expect((await server.stop()).code).toBe(0)
  },
)
