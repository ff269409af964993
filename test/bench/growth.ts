// Measures how the database grows with users who come every working day for a year: rows and bytes per user at the end of each
// month. It runs the service with a moved clock, its default retention and its cleanup once a day.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createHttpApp } from '../../packages/server/src/app.ts'
import { loadConfig } from '../../packages/server/src/config.ts'
import { isPostgres } from '../../packages/server/src/db/handle.ts'
import { closeDeps, createDeps } from '../../packages/server/src/deps.ts'
import { createSystemAdmin } from '../../packages/server/src/flows/bootstrap/bootstrap.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'
import { ADMIN, call, PASSWORD } from './support/server-under-test.ts'

const USERS = 40
const MONTHS = 12
const WORKING_DAYS = 22
/** One per hour. */
const REFRESHES_A_DAY = 6
/**
 * The month in which the first sessions, tokens and audit events have been removed. A
 * session lives 90 days and is kept another 90.
 */
const SETTLED = 8

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const monthMs = 30 * dayMs

interface Size {
  rows: number
  bytes: number
}

const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  for (const kind of ['sqlite', 'postgres'] as const) await simulate(kind)
} finally {
  await stop()
}

async function simulate(kind: DatabaseKind): Promise<void> {
  const { url } = await createDatabase(kind, templates)
  let now = Date.now()
  const secret = () => randomBytes(32).toString('base64')
  const config = loadConfig(
    {
      NODE_ENV: 'test',
      LOG_LEVEL: 'silent',
      DATABASE_URL: url,
      JWT_ACCESS_SECRET: secret(),
      AUTH_ENCRYPTION_KEY: secret(),
      AUTH_BCRYPT_COST: '4',
      AUTH_RATE_LIMIT_IP: 'off',
      AUTH_AUDIT_RETENTION_DAYS: '90',
    },
    { kept: secret, file: () => ({ fault: 'is not read here' }) },
  )
  const deps = createDeps(config, { clock: () => now })
  const server = createServer(createHttpApp(deps).callback()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`
  const post = (path: string, body: object, headers: Record<string, string> = {}) => call(`${api}${path}`, { body, headers })
  try {
    await createSystemAdmin(deps, { email: ADMIN, password: PASSWORD, promote: false, unlessOneExists: true }, systemActor)
    const admin = (await post('/auth/login', { email: ADMIN, password: PASSWORD, app_code: 'authctl' })).body
    const headers = { authorization: `Bearer ${admin.access_token}` }
    await post('/admin/apps', { code: 'bench', name: 'Bench', auto_grant_on_signup: true }, headers)
    const empty = await sizeOf(deps)
    const credentials = (user: number) => ({ email: `user-${user}@example.com`, password: PASSWORD, app_code: 'bench' })
    const tokens: string[] = []
    for (let user = 0; user < USERS; user += 1) tokens.push((await post('/auth/register', credentials(user))).body.refresh_token)

    const start = now
    const sizes: Size[] = []
    for (let month = 0; month < MONTHS; month += 1) {
      for (let day = 0; day < WORKING_DAYS; day += 1) {
        for (let hour = 0; hour < REFRESHES_A_DAY; hour += 1) {
          now = start + month * monthMs + day * dayMs + hour * hourMs
          for (const [user, token] of tokens.entries()) {
            const answer = await fetchTokens(`${api}/auth/refresh`, { refresh_token: token })
            // The session has ended, so the user signs in again.
            tokens[user] = (answer ?? (await post('/auth/login', credentials(user))).body).refresh_token
          }
        }
        await removeExpired(deps)
      }
      const { rows: allRows, bytes: allBytes } = await sizeOf(deps)
      sizes.push({ rows: allRows - empty.rows, bytes: allBytes - empty.bytes })
      const { rows, bytes } = sizes[month]!
      console.log(
        `  ${kind}, month ${month + 1}: ${(rows / USERS).toFixed(1)} rows, ${(bytes / USERS / 1_024).toFixed(1)} KiB a user`,
      )
    }
    const [settled, last] = [sizes[SETTLED - 1]!, sizes.at(-1)!]
    for (const [of, unit] of [
      ['rows', 'rows'],
      ['bytes', 'bytes'],
    ] as const)
      record({
        what: `${of} of an active user after ${MONTHS} months, ${kind}`,
        beside: `after ${SETTLED} months`,
        ours: Math.round(last[of] / USERS),
        peer: Math.round(settled[of] / USERS),
        unit,
        better: 'lower',
        bound: 1.05,
      })
  } finally {
    server.closeAllConnections()
    server.close()
    await closeDeps(deps)
  }
}

async function fetchTokens(url: string, body: object): Promise<{ refresh_token: string } | undefined> {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = (await reply.json()) as { refresh_token: string }
  return reply.ok ? answer : undefined
}

/** The size of all tables, after compacting them so that deleted rows do not count. */
async function sizeOf({ db }: ReturnType<typeof createDeps>): Promise<Size> {
  if (isPostgres(db)) {
    await db.raw('vacuum full')
    const { rows } = await db.raw(`select c.relname as name, pg_total_relation_size(c.oid) as bytes from pg_class c
      join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind = 'r'`)
    return sum(rows, (name) => db(name))
  }
  await db.raw('vacuum')
  const [{ bytes }] = await db.raw('select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()')
  const names: { name: string }[] = await db.raw(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  )
  const { rows } = await sum(
    names.map(({ name }) => ({ name, bytes: 0 })),
    (name) => db(name),
  )
  return { rows, bytes: Number(bytes) }
}

async function sum(
  tables: readonly { name: string; bytes: string | number }[],
  table: (name: string) => { count(column: object): PromiseLike<{ n?: unknown }[]> },
): Promise<Size> {
  const size = { rows: 0, bytes: 0 }
  for (const { name, bytes } of tables) {
    const [counted] = await table(name).count({ n: '*' })
    size.rows += Number(counted?.n)
    size.bytes += Number(bytes)
  }
  return size
}
