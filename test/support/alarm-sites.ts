// Small sites for the test of the alarms: servers on a database of their own, and what their users do.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from './client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

type OnEnd = (fn: () => Promise<void>) => void

/** What a server does every few minutes or seconds, it does as much more often as the durations of the alarms are shorter. */
function hurried(factor: number): string {
  const script = `const usual = setInterval
globalThis.setInterval = (act, ms, ...more) => usual(act, ms < 5000 ? ms : Math.max(500, ms / ${factor}), ...more)`
  return preload(script)
}

/** Settings under which the clock of a server is ahead. */
export const clockAhead = (ms: number) => `const usual = Date.now; Date.now = () => usual() + ${ms}`

const preload = (script: string) => `--import "data:text/javascript,${encodeURIComponent(script)}"`

export interface Site {
  job: string
  server: ServerProcess
  adminToken: string
  /** Runs a statement on its database, as somebody does who can reach it. */
  ask(statement: string): Promise<void>
  /** A transaction of somebody else on the same database. */
  hold(statement: string): Promise<() => Promise<void>>
  register(): Promise<{ email: string; access_token: string; refresh_token: string }>
}

export interface SiteSettings {
  job: string
  factor: number
  databaseUrl: string
  settings?: Record<string, string>
}

export function startHurriedServer(
  { factor, databaseUrl, settings = {} }: Omit<SiteSettings, 'job'>,
  onEnd: OnEnd,
  { script = '', file }: { script?: string; file?: string } = {},
): Promise<ServerProcess> {
  const NODE_OPTIONS = `${hurried(factor)}${script && ` ${preload(script)}`}`
  return startServer({ ...bootstrapAdmin, DATABASE_URL: databaseUrl, ...settings, NODE_OPTIONS }, onEnd, [], file)
}

/** Starts a server with an app that everybody may use. */
export async function startSite(site: SiteSettings, onEnd: OnEnd): Promise<Site> {
  const server = await startHurriedServer(site, onEnd)
  const db = createKnex({ databaseUrl: site.databaseUrl, dbPoolMax: 2 })
  onEnd(() => db.destroy())
  const { access_token: adminToken } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true }
  const made = await server.call('POST', '/admin/apps', { token: adminToken, body })
  if (made.status !== 201) throw new Error(`${site.job}: no app: ${JSON.stringify(made.body)}`)
  // Prometheus sees no increase in a counter that appears with its first event.
  await server.call('GET', '/auth/me', { token: adminToken })
  return {
    job: site.job,
    server,
    adminToken,
    async ask(statement) {
      await db.raw(statement)
    },
    async hold(statement) {
      const open = await db.transaction()
      await open.raw(statement)
      return async () => void (await open.rollback())
    },
    async register() {
      const email = `${randomUUID()}@example.com`
      const reply = await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'shop' } })
      if (reply.status !== 201) throw new Error(`${site.job}: nobody can register: ${reply.status}`)
      return { ...reply.body, email }
    },
  }
}

/** Does something again and again, whether or not it fails, until the returned function is called. */
export function repeat(act: () => Promise<unknown>, pauseMs: number): () => Promise<void> {
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      await act().catch(() => {})
      await sleep(pauseMs)
    }
  })()
  return async () => {
    isOver = true
    await running
  }
}

/** Does something at a steady pace, however long each time takes, until the returned function is called. */
export function steadily(act: () => Promise<unknown>, everyMs: number): () => Promise<void> {
  const timer = setInterval(() => act().catch(() => {}), everyMs)
  return async () => clearInterval(timer)
}
