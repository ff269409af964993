// The service that the black-box tests talk to over HTTP, on a new database. It runs in this process, so that tests can move its
// clock and every reply is compared with its declaration. `server-process.ts` starts it as a program.
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { createLogger } from '../../packages/server/src/adapters/logger.ts'
import { PasswordHasher } from '../../packages/server/src/adapters/password-hasher.ts'
import { BASE_PATH, createHttpApp } from '../../packages/server/src/app.ts'
import { loadConfig } from '../../packages/server/src/config.ts'
import type { Pool } from '../../packages/server/src/db/handle.ts'
import { closeDeps, createDeps, type Deps } from '../../packages/server/src/deps.ts'
import { createSystemAdmin } from '../../packages/server/src/flows/bootstrap/bootstrap.ts'
import type { ObservedReply, ReplyObserver } from '../../packages/server/src/http/answer.ts'
import { inTurn } from '../../packages/server/src/http/connections.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'
import type { Route } from '../../packages/server/src/http/route.ts'
import { hasKeyOfAudit } from '../../packages/server/src/resources/audit/chain.ts'
import { systemActor } from '../../packages/server/src/resources/audit/record-event.ts'
import { serverOptions } from '../../packages/server/src/serve.ts'
import {
  ADMIN_EMAIL,
  type CallOptions,
  callHttp,
  type Json,
  ownSecrets,
  PASSWORD,
  type Reply,
  someEmail,
  testDatabase,
  testEnvironment,
} from './client.ts'
import { createDatabase } from './database.ts'
import { secretIn } from './secrets-in-log.ts'

export * from './client.ts'

export interface TestService {
  url: string
  deps: Deps<Pool>
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  /** Like `call`, with the access token of a system_admin. */
  admin(method: string, path: string, options?: CallOptions): Promise<Reply>
  login(email: string, app: string, extra?: Record<string, unknown>): Promise<Reply>
  register(email: string, app: string, extra?: Record<string, unknown>): Promise<Reply>
  /** Moves the clock of the service. */
  advance(seconds: number): void
  /** The errors in its log, one line each. */
  logged: readonly string[]
}

/** Services in this process with the same bcrypt cost share hash threads: starting one takes as long as a hundred requests. */
class SharedHasher extends PasswordHasher {
  override async close(): Promise<void> {}
}
const hashers = new Map<number, SharedHasher>()

function sharedHasher(cost: number): SharedHasher {
  const hasher = hashers.get(cost) ?? new SharedHasher({ cost, threads: 1 })
  hashers.set(cost, hasher)
  return hasher
}

/**
 * Starts a service with these settings in addition to the defaults. It is stopped when the test or its file ends. If the settings
 * include AUTH_HASH_THREADS, the service does not share its hash threads.
 */
export async function buildService(
  settings: Record<string, string> = {},
  onEnd: (fn: () => Promise<void>) => void = onTestFinished,
): Promise<TestService> {
  const database = await createDatabase(testDatabase())
  const mailDir = mkdtempSync(join(tmpdir(), 'gatehouse-mail-'))
  const config = loadConfig(
    {
      ...testEnvironment,
      DATABASE_URL: database.url,
      DB_POOL_MAX: process.env.TEST_POOL_MAX ?? '10',
      AUTH_MAIL_DIR: mailDir,
      ...settings,
    },
    ownSecrets,
  )
  let offsetMs = 0
  const faults: string[] = []
  // A logged error is the reason for a 500.
  const logged: string[] = []
  const secrets = [config.accessSecret, testEnvironment.AUTH_ENCRYPTION_KEY]
  const write = (line: string) => {
    const secret = secretIn(line, secrets)
    if (secret !== undefined) faults.push(`the log tells ${secret}: ${line}`)
    if (line.includes('"level":"error"')) logged.push(line)
  }
  const logger = createLogger('debug', { write })
  const deps = createDeps(config, { clock: () => Date.now() + offsetMs, logger })
  if (settings.AUTH_HASH_THREADS === undefined) deps.passwords = sharedHasher(config.bcryptCost)
  const notes = noteReplies()
  const onReply: ReplyObserver = (route, reply) => {
    compareWithDeclaration(faults, route, reply)
    notes.add(route, reply)
  }
  const server = createServer(serverOptions, inTurn(createHttpApp(deps, { onReply }).callback()))
  // By default a server closes an idle connection after five seconds. On a busy machine,
  // the next request could already be on its way.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await notes.addAudited(deps).catch(() => {})
    await closeDeps(deps).catch(() => {})
    await database.drop()
    rmSync(mailDir, { recursive: true, force: true })
    if (faults.length > 0) throw new Error(faults.join('\n'))
  })

  // As every server and command does before it writes. Not earlier: a test may look at the first connection.
  let begun: Promise<unknown> | undefined
  const begin = () => {
    // Some tests write while the database is away.
    begun ??= hasKeyOfAudit(deps).catch(() => undefined)
    return begun
  }
  const call = async (method: string, path: string, options: CallOptions = {}): Promise<Reply> => {
    if (method !== 'GET') await begin()
    const reply = await callHttp(url + (path.startsWith('/') ? BASE_PATH + path : path), method, options)
    if (faults.length > 0) throw new Error([...faults.splice(0), ...logged.splice(0)].join('\n'))
    return reply
  }
  let adminToken: Promise<string> | undefined
  const login = (email: string, app: string, extra: Record<string, unknown> = {}) =>
    call('POST', '/auth/login', { body: { email, password: PASSWORD, app_code: app, ...extra } })
  const loginAdmin = async (): Promise<string> => {
    await begin()
    await createSystemAdmin(deps, { email: ADMIN_EMAIL, password: PASSWORD, promote: false, unlessOneExists: true }, systemActor)
    return (await login(ADMIN_EMAIL, 'authctl')).body.access_token
  }
  return {
    url,
    deps,
    call,
    login,
    register: (email, app, extra = {}) =>
      call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: app, ...extra } }),
    async admin(method, path, options = {}) {
      adminToken ??= loginAdmin()
      const reply = await call(method, path, { ...options, token: await adminToken })
      if (!['token_expired', 'token_revoked'].includes(reply.body?.code)) return reply
      // The test moved the clock past the expiry of the admin's token, or changed something about the admin that revokes it.
      adminToken = loginAdmin()
      return call(method, path, { ...options, token: await adminToken })
    },
    advance(seconds) {
      offsetMs += seconds * 1000
    },
    logged,
  }
}

/** Creates an app with these settings and returns its record. */
export async function buildApp(service: TestService, settings: Record<string, unknown> = {}): Promise<Json> {
  const code = `app-${randomBytes(4).toString('hex')}`
  const reply = await service.admin('POST', '/admin/apps', { body: { code, name: code, ...settings } })
  if (reply.status !== 201) throw new Error(`no app: ${JSON.stringify(reply.body)}`)
  return reply.body
}

/**
 * Registers a user through an app and returns the answer, which has no tokens if the app is confidential. The password is PASSWORD.
 */
export async function buildUser(
  service: TestService,
  app: { code: string; client?: string },
  extra: Record<string, unknown> = {},
): Promise<Json> {
  const asBackend = { email: someEmail(), password: PASSWORD, app_code: app.code, mode: 'register_or_return', ...extra }
  const reply =
    app.client === 'confidential'
      ? await service.admin('POST', '/auth/register', { body: asBackend })
      : await service.register(someEmail(), app.code, extra)
  if (reply.status !== 201) throw new Error(`no user: ${JSON.stringify(reply.body)}`)
  return reply.body
}

/** Adds a fault, which fails the test, if the service answered something that its route does not declare. */
function compareWithDeclaration(faults: string[], route: Route, { status, code, body }: ObservedReply): void {
  const name = `${route.method} ${route.path}`
  if (code === undefined) {
    const schema = route.responses[status]
    if (schema === undefined) faults.push(`${name} answered ${status}, which it does not declare`)
    else if (schema === null ? body !== undefined : !schema.safeParse(body).success)
      faults.push(`${name} answered ${status} in another shape`)
  } else if (
    !errorsOf(route)
      .get(status)
      ?.some((declared) => declared === code)
  ) {
    faults.push(`${name} answered ${status} ${code}, which it does not declare`)
  } else if (/`\w+`/.test(wordsOf(body))) {
    faults.push(`${name} answered ${status} with Markdown, which people read as it is: ${wordsOf(body)}`)
  }
}

/** What an error says in words. */
function wordsOf(body: unknown): string {
  const { detail, errors = [] } = Object(body) as { detail?: string; errors?: { message: string }[] }
  return [detail, ...errors.map(({ message }) => message)].join('; ')
}

/** Lines that this process has already written for `reply-coverage.ts`. */
const noted = new Set<string>()

/** Notes what a service answered and which of its writes are audited, in projects that provide a file for it. */
function noteReplies() {
  const file: string | undefined = inject('repliesFile')
  const writes = new Map<string, string>()
  const note = (line: string) => {
    if (file === undefined || noted.has(line)) return
    noted.add(line)
    appendFileSync(file, `${line}\n`)
  }
  return {
    add({ method, path }: Route, { requestId, status, code }: ObservedReply) {
      const name = `${method} ${path}`
      note(code === undefined ? `${name} ${status}` : `${name} ${status} ${code}`)
      if (code === undefined && method !== 'GET') writes.set(requestId, name)
    },
    async addAudited(deps: Deps) {
      if (file === undefined || writes.size === 0) return
      const audited: string[] = await deps
        .db('audit_events')
        .distinct('request_id')
        .whereNotNull('request_id')
        .pluck('request_id')
      for (const requestId of audited) {
        const name = writes.get(requestId)
        if (name !== undefined) note(`${name} audited`)
      }
    },
  }
}
