// A Postgres that stands still, with all its processes, answers nothing and refuses nothing: the service says 503 in time.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { measured, sized } from '../support/fault.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startPostgres } from '../support/postgres.ts'
import { startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Reply } from '../support/service.ts'

const turns = sized(56, 224)
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
  'Postgres frozen under load: every answer is 200 or 503, each of a frozen one 503 within 5 s, and it is back with it',
  { timeout: 120_000 },
  async (context) => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const server = await startServer({
      DATABASE_URL: postgres.adminUrl,
      ...bootstrapAdmin,
    })
    const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
    let frozen: number[] = []
    const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
      for (const pid of frozen) process.kill(pid, name)
    }
    let isFrozen = false
    const thaw = () => {
      if (isFrozen) signal('SIGCONT')
      isFrozen = false
    }
    onTestFinished(thaw)
    const ask = async (reply: Promise<Reply>) => {
      const clock = startPatientClock()
      const { status, body, headers } = await reply
      return { told: `${status} ${body.code} ${headers.get('retry-after')}`, ms: clock() }
    }
    const load = async (turns: number) => {
      const asked: ReturnType<typeof ask>[] = []
      for (let turn = 0; turn < turns; turn += 1) {
        asked.push(ask(server.login(ADMIN_EMAIL, 'authctl')), ask(server.call('GET', '/auth/me', { token })))
        await sleep(everyMs)
      }
      return { asked }
    }
    const before = await load(20)
    frozen = processesOf(postgres.adminUrl)
    signal('SIGSTOP')
    isFrozen = true
    const during = await Promise.all((await load(turns)).asked)
    expect(new Set(during.map(({ told }) => told))).toEqual(new Set(['503 unavailable 2']))
    const slowest = Math.max(...during.map(({ ms }) => ms))
    expect(slowest).toBeLessThan(answerMs)
    expect((await server.call('GET', '/health')).status).toBe(200)
    thaw()
    const thawed = performance.now()
    const after = load(20)
    await expect.poll(async () => (await server.login(ADMIN_EMAIL, 'authctl')).status, { interval: 50 }).toBe(200)
    const back = Math.round(performance.now() - thawed)
    const around = await Promise.all([...before.asked, ...(await after).asked])
    for (const { told } of around) expect(['200 undefined null', '503 unavailable 2']).toContain(told)
    measured(
      context,
      `${during.length} requests: all 503, slowest ${Math.round(slowest)} ms; ${around.length} before and after it: 200 or 503; the next login ${back} ms after the thaw`,
    )
  },
)
