// The SDK against the real service: how soon and how reliably a backend learns about revocations.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Auth, type AuthEvent, type AuthOptions, createAuth } from '@gatehouse/sdk'
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { createMailer } from '../../packages/server/src/adapters/mailer.ts'
import { startRevocationFeed } from '../../packages/server/src/workers/revocation-feed.ts'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { startMailbox, startSending } from '../support/mailbox.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { startServer } from '../support/server-process.ts'
import {
  ACCESS_SECRET,
  ADMIN_EMAIL,
  bootstrapAdmin,
  buildApp,
  buildService,
  buildUser,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  type TestService,
  testDatabase,
} from '../support/service.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

interface Consumer {
  auth: Auth
  events: AuthEvent[]
  /** The code that a token is refused with, or `ok`. */
  codeOf(token: string): Promise<string>
  /** Milliseconds until the token is refused. */
  refusal(token: string): Promise<number>
}

/** Generous: while the service is down, the feed retries every 5 s. */
const LONGEST_BACKOFF_MS = 30_000

async function until(holds: () => unknown, timeoutMs = 60_000): Promise<void> {
  for (const end = performance.now() + timeoutMs; !holds(); await sleep(1)) {
    if (performance.now() > end) throw new Error(`never: ${holds}`)
  }
}

/** A backend of the app that follows the feed of the service, as `createAuth()` makes it. */
async function buildConsumer(url: string, app: Json, options: AuthOptions = {}): Promise<Consumer> {
  const events: AuthEvent[] = []
  const onEvent = (event: AuthEvent) => void events.push(event)
  const auth = createAuth({ authUrl: url, appCode: app.code, secret: ACCESS_SECRET, onEvent, ...options })
  onTestFinished(() => auth.close())
  await until(() => events.some((event) => event.type === 'revocation.connected'))
  const codeOf = async (token: string) => {
    const result = await auth.safeVerify(token)
    return result.ok ? 'ok' : result.error.code
  }
  return {
    auth,
    events,
    codeOf,
    async refusal(token) {
      const start = performance.now()
      while ((await codeOf(token)) === 'ok') {
        if (performance.now() - start > LONGEST_BACKOFF_MS + 5_000) throw new Error('the token is never refused')
        await sleep(0.5)
      }
      expect(await codeOf(token)).toBe('TOKEN_REVOKED')
      return performance.now() - start
    },
  }
}

const streaming = (consumer: Consumer) =>
  until(() => consumer.events.some((event) => event.type === 'revocation.connected' && event.transport === 'stream'))

describe('one server', () => {
  let service: TestService
  let app: Json
  let otherApp: Json
  beforeAll(async () => {
    service = await buildService({}, onFileEnd)
    const feed = await startRevocationFeed(service.deps)
    afterAll(() => feed.stop())
    app = await buildApp(service, { auto_grant_on_signup: true })
    otherApp = await buildApp(service, { auto_grant_on_signup: true })
  })
  const revoke = (user: Json, of: Json = app) => service.admin('DELETE', `/admin/users/${user.id}/apps/${of.id}`)

  test('a revoked grant ends the tokens of that app at its consumer, and tokens of another app stay valid', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const otherToken = (await service.login(user.email, otherApp.code)).body.access_token
    const [consumer, other] = await Promise.all([buildConsumer(service.url, app), buildConsumer(service.url, otherApp)])
    expect(await consumer.codeOf(token)).toBe('ok')
    expect((await revoke(user)).status).toBe(200)
    await consumer.refusal(token)
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
    expect(await consumer.codeOf(token)).toBe('TOKEN_REVOKED')
    const newToken = (await service.login(user.email, app.code)).body.access_token
    expect(await consumer.codeOf(newToken)).toBe('ok')
    // Once the other feed has read a later event, it has read everything before it too.
    const marker = await buildUser(service, otherApp)
    await revoke(marker.user, otherApp)
    await other.refusal(marker.access_token)
    expect(await other.codeOf(otherToken)).toBe('ok')
  })

  test('a logout ends its own session only', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const second = (await service.login(user.email, app.code)).body
    const consumer = await buildConsumer(service.url, app)
    await service.call('POST', '/auth/logout', { body: { refresh_token: second.refresh_token } })
    await consumer.refusal(second.access_token)
    expect(await consumer.codeOf(token)).toBe('ok')
  })

  test('a password reset by mail, or a magic link that takes an account over, ends every earlier token in every app', async () => {
    const mailbox = await startMailbox()
    service.deps.mailer.close()
    service.deps.mailer = createMailer({ ...service.deps.config, smtpUrl: mailbox.url })
    startSending(service)
    const [consumer, other] = await Promise.all([buildConsumer(service.url, app), buildConsumer(service.url, otherApp)])
    for (const [asked, used, password] of [
      ['/auth/password/forgot', '/auth/password/reset', 'a new horse battery staple'],
      ['/auth/magic-link', '/auth/magic-link/consume', undefined],
    ] as const) {
      const { user, access_token: token } = await buildUser(service, app)
      await mailbox.take(user.email)
      const otherToken = (await service.login(user.email, otherApp.code)).body.access_token
      await service.call('POST', asked, { body: { email: user.email, app_code: app.code } })
      const mail = await mailbox.take(user.email)
      expect([await consumer.codeOf(token), await other.codeOf(otherToken)]).toEqual(['ok', 'ok'])
      const reply = await service.call('POST', used, { body: { token: mail.token, password } })
      await Promise.all([consumer.refusal(token), other.refusal(otherToken)])
      for (const dead of [token, otherToken])
        expect((await service.call('GET', '/auth/me', { token: dead })).body.code).toBe('token_revoked')
      const newToken = reply.body.access_token ?? (await service.login(user.email, app.code, { password })).body.access_token
      expect(await consumer.codeOf(newToken)).toBe('ok')
    }
  })

  test('a consumer that starts later learns of earlier revocations', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    await revoke(user)
    const consumer = await buildConsumer(service.url, app)
    expect(await consumer.codeOf(token)).toBe('TOKEN_REVOKED')
    expect(consumer.auth.health().revocation).toEqual({ mode: 'feed', connected: true, ageSec: 0 })
  })

  test('a consumer that only polls misses no concurrent transaction that commits late and out of order', async () => {
    const { db } = service.deps
    if (testDatabase() === 'postgres') {
      await db.raw(`create function linger() returns trigger language plpgsql as
        $$ begin perform pg_sleep(0.001 * (new.cursor * 7 % 11)); return null; end $$`)
      await db.raw(`create constraint trigger linger after insert on revocations deferrable initially deferred
        for each row execute function linger()`)
      onTestFinished(async () => {
        await db.raw('drop trigger linger on revocations')
      })
    }
    const users: Json[] = []
    for (let i = 0; i < 40; i += 1) users.push(await buildUser(service, app))
    vi.spyOn(Math, 'random').mockReturnValue(0.0002)
    let polls = 0
    const consumer = await buildConsumer(service.url, app, {
      fetch(url, init) {
        if (String(url).includes('/stream')) return Promise.resolve(new Response(null, { status: 404 }))
        polls += 1
        return fetch(url, init)
      },
    })
    const before = polls
    // Each call begins a little after the previous one: a burst would hold up the first poll on SQLite until all have committed.
    const replies = await atOnce(users.length, async (index) => {
      await sleep(5 * index)
      return revoke(users[index].user)
    })
    expect(replies.every(({ status }) => status === 200)).toBe(true)
    for (const { access_token: token } of users) await consumer.refusal(token)
    expect(polls - before).toBeGreaterThan(3)
    expect(consumer.events).toEqual([{ type: 'revocation.connected', transport: 'poll' }])
  })

  test.each([
    [
      'a secret that differs from that of the service',
      () => ({ secret: 'another secret that is long enough, but not this one' }),
      401,
    ],
    ['an unknown app', () => ({ appCode: `none-${randomUUID()}` }), 401],
  ])('the feed refuses %s, and an event reports it', async (_, options, status) => {
    const events: AuthEvent[] = []
    const auth = createAuth({
      authUrl: service.url,
      appCode: app.code,
      secret: ACCESS_SECRET,
      onEvent: (event) => events.push(event),
      ...options(),
    })
    onTestFinished(() => auth.close())
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ type: 'revocation.disconnected', reason: `HTTP ${status} token_invalid` })
  })

  test('the previous secret opens the feed until the service has the current one', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const secret = ['a secret that the service does not know yet, long', ACCESS_SECRET] as const
    const consumer = await buildConsumer(service.url, app, { secret })
    await streaming(consumer)
    await revoke(user)
    await consumer.refusal(token)
  })
})

const settings = {
  DB_POOL_MAX: '5',
  ...bootstrapAdmin,
}

/** What an admin does at a server. */
async function adminOf(server: ServerInstance) {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const admin = (method: string, path: string, body?: object): Promise<Reply> => server.call(method, path, { body, token })
  return {
    async buildApp(): Promise<Json> {
      const code = `app-${randomUUID()}`
      return (await admin('POST', '/admin/apps', { code, name: code, auto_grant_on_signup: true })).body
    },
    async buildUser(app: Json): Promise<Json> {
      const email = someEmail()
      return (await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: app.code } })).body
    },
    revoke: ({ user }: Json, app: Json) => admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`),
  }
}

test('verification goes on and reports it while the service is down, and the feed resumes after the restart', {
  timeout: 2 * LONGEST_BACKOFF_MS,
}, async () => {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  const first = await startServer({ ...settings, DATABASE_URL: database.url })
  const admin = await adminOf(first)
  const app = await admin.buildApp()
  const users = [await admin.buildUser(app), await admin.buildUser(app), await admin.buildUser(app)]
  const consumer = await buildConsumer(first.url, app)
  await streaming(consumer)
  await admin.revoke(users[0], app)
  await consumer.refusal(users[0].access_token)

  // The last revocation may or may not have reached the consumer when the process dies.
  await admin.revoke(users[1], app)
  first.signal('SIGKILL')
  await first.ended
  await until(() => !consumer.auth.health().revocation.connected)
  expect(await consumer.codeOf(users[0].access_token)).toBe('TOKEN_REVOKED')
  expect(await consumer.codeOf(users[2].access_token)).toBe('ok')
  expect(consumer.events.at(-1)).toMatchObject({ type: 'revocation.disconnected', reason: expect.stringMatching(/\w/) })

  const second = await startInstance({ ...settings, DATABASE_URL: database.url, PORT: new URL(first.url).port })
  await (await adminOf(second)).revoke(users[2], app)
  for (const { access_token: token } of users) await consumer.refusal(token)
  expect(consumer.auth.health().revocation.connected).toBe(true)
})

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  let servers: [ServerInstance, ServerInstance]
  let url: string
  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    afterAll(() => database.drop())
    url = database.url
    const start = () => startInstance({ ...settings, DATABASE_URL: url }, onFileEnd)
    servers = await Promise.all([start(), start()])
  })

  test('a revocation at one server reaches the consumers of the other', async () => {
    const admin = await adminOf(servers[0])
    const app = await admin.buildApp()
    const consumer = await buildConsumer(servers[1].url, app)
    await streaming(consumer)
    for (let i = 0; i < 5; i += 1) {
      const user = await admin.buildUser(app)
      const refused = consumer.refusal(user.access_token)
      await admin.revoke(user, app)
      await refused
    }
  })

  test('a server that comes back delivers the revocations made at the other server while it was down', {
    timeout: 2 * LONGEST_BACKOFF_MS,
  }, async () => {
    const admin = await adminOf(servers[0])
    const app = await admin.buildApp()
    const doomed = await startServer({ ...settings, DATABASE_URL: url })
    const users = [await admin.buildUser(app), await admin.buildUser(app)]
    const consumer = await buildConsumer(doomed.url, app)
    await admin.revoke(users[0], app)
    await consumer.refusal(users[0].access_token)
    doomed.signal('SIGKILL')
    await doomed.ended
    await until(() => !consumer.auth.health().revocation.connected)
    await admin.revoke(users[1], app)
    expect(await consumer.codeOf(users[1].access_token)).toBe('ok')
    await startInstance({ ...settings, DATABASE_URL: url, PORT: new URL(doomed.url).port })
    await consumer.refusal(users[1].access_token)
  })
})
