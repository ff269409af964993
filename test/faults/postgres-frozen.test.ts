// A Postgres that stands still, with all its processes, answers nothing and refuses nothing: the service says 503 in time.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { measured, sized } from '../support/fault.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startPostgres } from '../support/postgres.ts'
import { startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin } from '../support/service.ts'

const logins = sized(112, 448)
const everyMs = 30
const answerMs = 5_000

/** The processes of a Postgres, the first of which starts the others. */
function processesOf(adminUrl: string): number[] {
  const folder = new URL(adminUrl).searchParams.get('host')!
  const postmaster = Number(readFileSync(join(folder, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0])
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return [postmaster, ...all.map(Number).filter((pid) => parentOf(pid) === postmaster)]
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    // It has ended meanwhile.
    return undefined
  }
}

test.runIf(process.platform === 'linux' && process.env.TEST_DATABASE_URL === undefined)(
  'Postgres frozen under load: every login is 503 within 5 s while it stands, and it is back with it',
  { timeout: 120_000 },
  async (context) => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const server = await startServer({
      DATABASE_URL: postgres.adminUrl,
      ...bootstrapAdmin,
    })
    expect((await server.login(ADMIN_EMAIL, 'authctl')).status).toBe(200)
    const frozen = processesOf(postgres.adminUrl)
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      for (const pid of frozen) process.kill(pid, name)
    }
    signal('SIGSTOP')
    let isFrozen = true
    const thaw = () => {
      if (isFrozen) signal('SIGCONT')
      isFrozen = false
    }
    onTestFinished(thaw)
    const login = async () => {
      const clock = startPatientClock()
      const { status, body, headers } = await server.login(ADMIN_EMAIL, 'authctl')
      return { status, code: body.code, retryAfter: headers.get('retry-after'), ms: clock() }
    }
    const asked: ReturnType<typeof login>[] = []
    for (let turn = 0; turn < logins; turn += 1) {
      asked.push(login())
      await sleep(everyMs)
    }
    const answers = await Promise.all(asked)
    expect(new Set(answers.map(({ status, code, retryAfter }) => `${status} ${code} ${retryAfter}`))).toEqual(
      new Set(['503 unavailable 2']),
    )
    const slowest = Math.max(...answers.map(({ ms }) => ms))
    expect(slowest).toBeLessThan(answerMs)
    expect((await server.call('GET', '/health')).status).toBe(200)
    thaw()
    const thawed = performance.now()
    await expect.poll(async () => (await server.login(ADMIN_EMAIL, 'authctl')).status, { interval: 50 }).toBe(200)
    const back = Math.round(performance.now() - thawed)
    measured(context, `${logins} logins: all 503, slowest ${Math.round(slowest)} ms; the next login ${back} ms after the thaw`)
  },
)
