// Measures what docs/operate/sizing.md multiplies: the processor time of each request, of the server and of Postgres together, at
// bcrypt costs 10 and 12 in turns; the bytes that each leaves in Postgres, indexes included; and the mails that it sends. Processor
// time hardly depends on other load of the machine, which the time of a request does.
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Children } from '../../scripts/children.ts'
import { createDatabase, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'
import { connected } from './support/scale-databases.ts'
import { ADMIN, call, cpuMs, median, PASSWORD, startGatehouse, usualSettings } from './support/server-under-test.ts'

const ROUNDS = 5
const LANES = 8
/** How many users fill the database, and how often each of them signs in, refreshes and asks who they are. */
const FILLED = { users: 3_000, logins: 2, refreshes: 4, questions: 4 }
const browser = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
}

const children = new Children()
const { templates, stop } = await prepareTemplates(['postgres'])
try {
  await compareCosts()
  await children.stopAll()
  await fill()
} finally {
  await children.stopAll()
  await stop()
}

type Subject = Awaited<ReturnType<typeof started>>

async function started(cost: number) {
  const { url } = await createDatabase('postgres', templates)
  const settings = { ...usualSettings, NODE_ENV: 'test', AUTH_RATE_LIMIT_ACCOUNT: 'off' }
  const server = await startGatehouse(children, { ...settings, DATABASE_URL: url, AUTH_BCRYPT_COST: String(cost) })
  const api = `${server.url}/api/v1`
  const admin = (await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })).body
  const headers = { authorization: `Bearer ${admin.access_token}` }
  await call(`${api}/admin/apps`, { body: { code: 'bench', name: 'Bench', auto_grant_on_signup: true }, headers })
  let made = 0
  const post = async (path: string, body: object) => (await call(`${api}${path}`, { body, headers: browser })).body
  const signIn = (path: string, user: number) =>
    post(path, { email: `user-${user}@example.com`, password: PASSWORD, app_code: 'bench' })
  return {
    ...{ server, url, post },
    registration: () => signIn('/auth/register', made++),
    login: (user: number) => signIn('/auth/login', user),
    me: (token: string) => call(`${api}/auth/me`, { headers: { authorization: `Bearer ${token}` } }),
  }
}

/** What the server spends on a hash and all around it: with one request at a time, and with several that share the work. */
async function compareCosts(): Promise<void> {
  const subjects = [
    { cost: 10, share: 4, ...(await started(10)) },
    { cost: 12, share: 1, ...(await started(12)) },
  ]
  const deeds = [
    { deed: 'registration', lanes: 1, count: 12, act: ({ registration }: Subject) => registration() },
    { deed: 'login', lanes: 1, count: 16, act: ({ login }: Subject, index: number) => login(index % 8) },
    { deed: `login, ${LANES} at once`, lanes: LANES, count: 32, act: ({ login }: Subject, index: number) => login(index % 8) },
  ]
  const spent = subjects.map(() => deeds.map((): number[] => []))
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [each, subject] of subjects.entries())
      for (const [index, { lanes, count, act }] of deeds.entries()) {
        const before = cpuMs(subject.server)
        const calls = count * subject.share
        await inLanes(lanes, calls, (call) => act(subject, call))
        // The first round compiles and fills caches.
        if (round > 0) spent[each]![index]!.push((cpuMs(subject.server) - before) / calls)
      }
  for (const [each, { cost }] of subjects.entries())
    for (const [index, { deed }] of deeds.entries()) recordCost(`${deed}, cost ${cost}, the server`, median(spent[each]![index]!))
}

function recordCost(what: string, ms: number): void {
  record({ what, ours: Number(ms.toFixed(3)), unit: 'ms CPU', better: 'lower' })
}

/** Each lane makes one call after the other. */
async function inLanes(lanes: number, count: number, act: (call: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

function parentOf(pid: number): number {
  return Number(statOf(pid)![1])
}

/** The fields of `/proc/PID/stat` after the name. Undefined if the process has ended. */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  } catch {
    return undefined
  }
}

/** Processor time of all processes of a Postgres in milliseconds, those that have ended too (Linux). */
function cpuOfPostgres(postmaster: number): number {
  const own = statOf(postmaster)!
  let ticks = [11, 12, 13, 14].reduce((sum, field) => sum + Number(own[field]), 0)
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = statOf(Number(pid))
    if (stat && Number(stat[1]) === postmaster) ticks += Number(stat[11]) + Number(stat[12])
  }
  return ticks * 10
}

/** Fills a database with users by their own requests, at a cost at which the hash takes no time. It has the same length at each. */
async function fill(): Promise<void> {
  const subject = await started(4)
  const db = await connected(subject.url)
  const postmaster = parentOf((await db.query('select pg_backend_pid() as pid')).rows[0].pid)
  const tokens: { access_token: string; refresh_token: string }[] = []
  const { users, ...turns } = FILLED
  let before = await sizesOf(db)
  const measured = async (deed: string, count: number, act: (user: number) => Promise<unknown>) => {
    const cpu = { server: cpuMs(subject.server), postgres: cpuOfPostgres(postmaster) }
    for (let turn = 0; turn < count; turn += 1) await inLanes(LANES, users, act)
    const calls = users * count
    recordCost(`${deed}, Postgres`, (cpuOfPostgres(postmaster) - cpu.postgres) / calls)
    if (deed === 'refresh' || deed === 'me') recordCost(`${deed}, the server`, (cpuMs(subject.server) - cpu.server) / calls)
    const after = await sizesOf(db)
    const grown = new Map([...after].map(([table, bytes]) => [table, (bytes - (before.get(table) ?? 0)) / calls]))
    before = after
    const bytesOf = (what: string, suits: (table: string) => boolean) => {
      const bytes = [...grown].reduce((sum, [table, each]) => sum + (suits(table) ? each : 0), 0)
      if (deed !== 'me') record({ what, ours: Math.round(bytes), unit: 'bytes', better: 'lower' })
    }
    bytesOf(`${deed}, in the audit`, isAudit)
    bytesOf(`${deed}, in other tables`, (table) => !isAudit(table))
    return bytesOf
  }
  try {
    const bytesOf = await measured('registration', 1, async (user) => {
      tokens[user] = await subject.registration()
    })
    bytesOf('a user', (table) => /^user(s|_roles|_namespaces)$/.test(table))
    bytesOf('a grant', (table) => table === 'user_apps')
    bytesOf('a session with its token', (table) => /^(sessions|refresh_tokens)$/.test(table))
    bytesOf('a mail with its link', (table) => /^(outbox|mail_tokens)$/.test(table))
    await measured('login', turns.logins, async (user) => {
      tokens[user] = await subject.login(user)
    })
    await measured('refresh', turns.refreshes, async (user) => {
      tokens[user] = await subject.post('/auth/refresh', { refresh_token: tokens[user]!.refresh_token })
    })
    await measured('me', turns.questions, (user) => subject.me(tokens[user]!.access_token))
    const { rows } = await db.query("select count(*)::int as mails from outbox where kind = 'mail'")
    record({ what: 'mails of a registration and two logins', ours: rows[0].mails / users, unit: 'mails', better: 'lower' })
  } finally {
    await db.end()
  }
}

function isAudit(table: string): boolean {
  return table.startsWith('audit_')
}

/** Bytes of each table, indexes included. */
// biome-ignore lint/suspicious/noExplicitAny: `pg` has no types here.
async function sizesOf(db: any): Promise<Map<string, number>> {
  // Until what was written is sealed and mailed.
  await sleep(8_000)
  await db.query('vacuum')
  const { rows } = await db.query(
    `select relname as name, pg_total_relation_size(oid)::float as bytes
     from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  )
  return new Map(rows.map(({ name, bytes }: { name: string; bytes: number }) => [name, bytes]))
}
