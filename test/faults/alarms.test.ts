// Every alarm of deploy/prometheus fires when what it is about happens, and is silent before. A Prometheus scrapes small sites, and
// each fault happens to a real server. The durations of the rules are shorter, and nothing else about them is changed.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { beforeAll, beforeEach, expect, inject, onTestFinished, test } from 'vitest'
import { version } from '../../packages/server/src/lib/version.ts'
import {
  type Case,
  caseOfConnections,
  caseOfGuesses,
  caseOfHashes,
  caseOfLateRevocations,
  caseOfLoginsThatStop,
  caseOfSlowness,
  caseOfVersions,
  casesOfDatabase,
  casesOfMail,
  casesOfPair,
  casesOfRefusals,
  casesOfTables,
  type StartAnother,
} from '../support/alarm-faults.ts'
import { repeat, startHurriedServer, startSite } from '../support/alarm-sites.ts'
import { ADMIN_EMAIL } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured } from '../support/fault.ts'
import { freePort } from '../support/free-port.ts'
import { startMailbox } from '../support/mail-server.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startPostgres } from '../support/postgres.ts'
import { alarmRules, divided, type Prometheus, providePrometheus, startPrometheus } from '../support/prometheus.ts'
import type { ServerProcess } from '../support/server-process.ts'

/** Five minutes are four seconds, in which Prometheus scrapes four times. */
const factor = 75
/** Six hours are too long even then. */
const longFactor = { GatehouseCleanupStandsStill: 15 * factor } as Record<string, number>
/** A busy machine may cause these: a server that has no turn for two seconds is down. */
const ofBusyMachine = ['GatehouseServerDown', 'GatehouseDatabaseDown', 'GatehouseAuditNotSealed']
const scrapeMs = 1_000
const patienceMs = 150_000

let obstacle: string | undefined
beforeAll(async () => {
  await providePrometheus().catch((error: Error) => {
    obstacle = error.message
    process.stderr.write(`[gatehouse] the test of the alarms is skipped: ${obstacle}\n`)
  })
}, 300_000)
beforeEach(({ skip }) => {
  if (obstacle !== undefined) skip(obstacle)
})

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  await expect.poll(holds, { timeout: patienceMs, interval: 250, message: what }).toBe(true)
}

/** Sees the alarms of a case silent, firing, and silent again. */
async function see(prometheus: Prometheus, { alarms, job, faults, happen, isLasting = false }: Case): Promise<void> {
  const expected = alarms.flatMap((alert) => (faults ?? ['']).map((fault) => ({ alert, fault })))
  const countFiring = async () => {
    const firing = await prometheus.firing()
    const isOf = (wanted: (typeof expected)[number]) =>
      firing.some((each) => each.alert === wanted.alert && each.job === (job ?? '') && (each.labels.fault ?? '') === wanted.fault)
    return expected.filter(isOf).length
  }
  await until(async () => (await countFiring()) === 0, `${alarms} of ${job}: silent before`)
  const mend = await happen()
  await until(async () => (await countFiring()) === expected.length, `${alarms} of ${job}: firing`)
  await mend()
  if (!isLasting) await until(async () => (await countFiring()) === 0, `${alarms} of ${job}: silent afterwards`)
}

/** The programs of another version: the present ones under another number. */
function nextVersion(): string {
  const present = dirname(inject('programs').gatehouse)
  const next = `${present}-next-${process.pid}`
  cpSync(present, next, { recursive: true })
  onTestFinished(() => rmSync(next, { recursive: true }))
  const ours = new RegExp(`version:"${version.replaceAll('.', '\\.')}"`, 'g')
  for (const file of globSync(join(next, '*.js')))
    writeFileSync(file, readFileSync(file, 'utf8').replace(ours, 'version:"99.0.0"'))
  return join(next, basename(inject('programs').gatehouse))
}

async function databaseOf(kind: DatabaseKind): Promise<string> {
  const database = await createDatabase(kind)
  onTestFinished(() => database.drop())
  return database.url
}

test.runIf(process.env.TEST_DATABASE_URL === undefined)(
  'each alarm is silent, fires when its condition occurs, and is silent again afterwards',
  { timeout: 900_000 },
  async (context) => {
    const clock = startPatientClock()
    const ports = { well: String(await freePort()), second: String(await freePort()) }
    const site = async (name: string, databaseUrl: string | Promise<string>, settings: Record<string, string> = {}) =>
      startSite({ job: `gatehouse-${name}`, factor, databaseUrl: await databaseUrl, settings }, onTestFinished)
    const postgres = await startPostgres()
    onTestFinished(() => postgres.stop())
    let isSilent = false
    const waiting: (() => void)[] = []
    const mailbox = await startMailbox({ onMailFrom: (_, __, go) => void (isSilent ? waiting.push(go) : go()) })
    const silence = (silent: boolean) => {
      isSilent = silent
      for (const go of waiting.splice(0)) go()
    }
    const shared = await databaseOf('postgres')
    const ofWell = await databaseOf('sqlite')
    const [well, database, starved, pair, work, logins, hashes] = await Promise.all([
      site('well', ofWell, { PORT: ports.well }),
      site('database', postgres.adminUrl),
      site('starved', databaseOf('postgres'), { DB_POOL_MAX: '2' }),
      site('pair', shared),
      site('work', databaseOf('sqlite'), { SMTP_URL: mailbox.url, AUTH_REFRESH_LEEWAY_SECONDS: '0' }),
      site('logins', databaseOf('sqlite')),
      site('hashes', databaseOf('sqlite'), { AUTH_BCRYPT_COST: '11' }),
    ])
    const others: ServerProcess[] = []
    const startAnother: StartAnother = async (how, settings = {}) => {
      const site = { factor, databaseUrl: shared, settings: { PORT: ports.second, ...settings } }
      const server = await startHurriedServer(site, onTestFinished, how)
      others.push(server)
      return server
    }
    const second = await startAnother()
    const sites = [well, database, starved, pair, work, logins, hashes]
    const jobs = sites.map(({ job, server }) => ({
      job_name: job,
      targets: [server, ...(job === pair.job ? [second] : [])].map(({ url }) => new URL(url).host),
      // A server whose connections are all in use takes a second to answer.
      everyMs: job === starved.job ? 2 * scrapeMs : scrapeMs,
    }))
    const rules = alarmRules.map((rule) => divided(rule, longFactor[rule.alert] ?? factor))
    const prometheus = await startPrometheus(rules, jobs)
    onTestFinished(() => prometheus.stop())
    const users = repeat(() => well.server.login(ADMIN_EMAIL, 'authctl'), 300)

    const next = () => startHurriedServer({ factor, databaseUrl: shared }, onTestFinished, { file: nextVersion() })
    const inTurn = async (...cases: readonly Case[]) => {
      for (const each of cases) await see(prometheus, each)
    }
    const atOnce = (...cases: readonly Case[]) => Promise.all(cases.map((each) => inTurn(each)))
    const ended = await Promise.allSettled([
      atOnce(caseOfSlowness(database), caseOfLateRevocations(database)).then(() =>
        inTurn(...casesOfDatabase(database, postgres)),
      ),
      inTurn(caseOfConnections(starved)),
      inTurn(...casesOfPair(pair, second, startAnother)),
      inTurn(caseOfVersions(pair, next)),
      inTurn(...casesOfMail(work, mailbox, silence)),
      inTurn(...casesOfTables(work)),
      inTurn(...casesOfRefusals(work)),
      inTurn(caseOfLoginsThatStop(logins)),
      inTurn(caseOfGuesses(logins)),
      inTurn(caseOfHashes(hashes)),
    ])
    expect(ended.flatMap((line) => (line.status === 'rejected' ? [String(line.reason)] : []))).toEqual([])
    await users()
    const atWell = (await prometheus.everFired()).filter(({ job }) => job === well.job)
    expect(atWell.filter(({ alert }) => !ofBusyMachine.includes(alert))).toEqual([])
    await see(prometheus, {
      alarms: ['GatehouseAbsent'],
      job: undefined,
      async happen() {
        for (const server of [...sites.map(({ server }) => server), ...others]) server.signal('SIGKILL')
        return () => startHurriedServer({ factor, databaseUrl: ofWell, settings: { PORT: ports.well } }, onTestFinished)
      },
    })
    const fired = await prometheus.everFired()
    expect(new Set(fired.map(({ alert }) => alert))).toEqual(new Set(alarmRules.map(({ alert }) => alert)))
    measured(context, `${alarmRules.length} alarms in ${Math.round(clock() / 1_000)} s`)
  },
)
