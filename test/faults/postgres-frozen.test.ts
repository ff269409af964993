// All processes of Postgres are frozen, so it neither answers nor refuses anything. The service answers 503 in time.
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

/** The process that starts all other processes of a Postgres. */
function postmasterOf(adminUrl: string): number {
  const folder = new URL(adminUrl).searchParams.get('host')!
  return Number(readFileSync(join(folder, 'cluster', 'postmaster.pid'), 'utf8').split('\n')[0])
}

function childrenOf(parent: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.map(Number).filter((pid) => parentOf(pid) === parent)
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(/^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
  } catch {
    // The process has ended in the meantime.
    return undefined
  }
}

test.runIf(process.platform === 'linux' && process.env.TEST_DATABASE_URL === undefined)(
  'a Postgres frozen under load gives only 200 or 503, each within 5 s, and the service is back with it',
  { timeout: 120_000 },
  async (context) => {
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    const server = await startServer({
      DATABASE_URL: postgres.adminUrl,
      ...bootstrapAdmin,
      // On a busy machine more logins of this account are in flight than its limit allows.
      AUTH_RATE_LIMIT_ACCOUNT: 'off',
    })
    const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const frozen: number[] = []
    const freeze = (pid: number) => {
      process.kill(pid, 'SIGSTOP')
      frozen.push(pid)
    }
    const thaw = () => {
      for (const pid of frozen.splice(0)) process.kill(pid, 'SIGCONT')
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
    // The postmaster first: otherwise it could start a process that is not frozen, for a connection that was just opened.
    const postmaster = postmasterOf(postgres.adminUrl)
    freeze(postmaster)
    for (const pid of childrenOf(postmaster)) freeze(pid)
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
