// The metrics of a running server, as Prometheus reads them.
import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { HashQueueFullError } from '../../packages/server/src/lib/unavailable.ts'
import { startRevocationFeed } from '../../packages/server/src/workers/revocation-feed.ts'
import { productionSettings } from '../support/app-fixtures.ts'
import { assertionOf, openEventStream } from '../support/consumer.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { isFastLane } from '../support/lane.ts'
import { allSent, buildMailingService, startMailbox, startSending, until } from '../support/mailbox.ts'
import { startReceiver } from '../support/receiver.ts'
import {
  anyLine,
  buildApp,
  buildService,
  buildUser,
  callHttp,
  type Json,
  PASSWORD,
  realLimits,
  type TestService,
  testDatabase,
} from '../support/service.ts'
import { askFor, type Page, signInOnPage, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** The current metrics. Advances the clock first, because they are kept for a second. */
async function scrape(service: TestService, token?: string): Promise<Sample[]> {
  service.advance(1)
  const reply = await callHttp(`${service.url}/metrics`, 'GET', { token })
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = (reply.body as string).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', labels = '', value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    return {
      name,
      labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, k, v]) => [k, v])),
      value: Number(value),
    }
  })
}

/** The sum of the samples with this name and these labels. */
function sum(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number | undefined {
  const fits = samples.filter(
    (sample) =>
      sample.name === `gatehouse_${name}` && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  )
  return fits.length === 0 ? undefined : fits.reduce((total, { value }) => total + value, 0)
}

/** By how much a metric rises while `act` runs. */
async function rise(
  service: TestService,
  name: string,
  labels: Record<string, string>,
  act: () => Promise<unknown>,
): Promise<number> {
  const before = sum(await scrape(service), name, labels) ?? 0
  await act()
  return (sum(await scrape(service), name, labels) ?? 0) - before
}

const service = serviceFixture({ AUTH_HASH_THREADS: '1', AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: '5/300' })
const app = appFixture(service)
const user: Json = fixture(() => buildUser(service, app))

describe('metrics of sign-in', () => {
  const times = async (count: number, act: () => Promise<unknown>) => {
    for (let index = 0; index < count; index += 1) await act()
  }

  test('logins are counted as success, wrong password, locked account, too many attempts and missing code', async () => {
    const locked = (await buildUser(service, app)).user
    const guarded = await buildUser(service, app)
    await enableTwoFactor(service, guarded.access_token)
    const wrong = { password: 'a wrong password' }
    const outcomes: [string, number, () => Promise<unknown>][] = [
      ['success', 2, () => service.login(user.user.email, app.code)],
      ['invalid_credentials', 2, () => service.login(locked.email, app.code, wrong)],
      ['account_locked', 2, () => service.login(locked.email, app.code)],
      ['app_not_found', 1, () => service.login(user.user.email, 'no-such-app')],
      ['two_factor_required', 1, () => service.login(guarded.user.email, app.code)],
      ['validation_failed', 1, () => service.call('POST', '/auth/login', { body: {} })],
    ]
    for (const [outcome, count, act] of outcomes) {
      // The third failure locks, but is still reported as a wrong password.
      if (outcome === 'account_locked') await service.login(locked.email, app.code, wrong)
      expect(await rise(service, 'logins_total', { method: 'password', outcome }, () => times(count, act)), outcome).toBe(count)
    }
    const nobody = 'nobody@example.com'
    expect(
      await rise(service, 'logins_total', { outcome: 'rate_limited' }, () => times(8, () => service.login(nobody, app.code))),
    ).toBeGreaterThan(0)
  })

  test('registrations are counted as created, existing and refused', async () => {
    const email = `user-${randomBytes(4).toString('hex')}@example.com`
    const register =
      (extra = {}) =>
      () =>
        service.register(email, app.code, extra)
    expect(await rise(service, 'registrations_total', { outcome: 'created' }, register())).toBe(1)
    expect(await rise(service, 'registrations_total', { outcome: 'existing' }, register({ mode: 'register_or_login' }))).toBe(1)
    expect(await rise(service, 'registrations_total', { outcome: 'user_exists' }, register())).toBe(1)
  })

  test('sign-ins and registrations on the page are counted as those of the API are', async () => {
    const shop = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/cb'] })
    const guarded = await buildUser(service, shop)
    const phone = await enableTwoFactor(service, guarded.access_token)
    const { email } = (await buildUser(service, shop)).user
    const counted = (outcome: string, act: () => Promise<unknown>) =>
      rise(service, 'logins_total', { method: 'password', outcome }, act)
    const signIn = (email: string, values = {}) => signInOnPage(visit(service), askFor(shop), email, values)
    expect(await counted('success', () => signIn(email))).toBe(1)
    expect(await counted('invalid_credentials', () => signIn(email, { password: 'a wrong password' }))).toBe(1)

    const visitor = visit(service)
    let page: Page | undefined
    const asksForCode = async () => {
      page = await signInOnPage(visitor, askFor(shop), guarded.user.email)
    }
    expect(await counted('two_factor_required', asksForCode)).toBe(1)
    const sendCode = (code: string) => async () => {
      page = await visitor.send(page!, 'Continue', { two_factor_code: code })
    }
    expect(await counted('invalid_two_factor_code', sendCode(phone.wrongCode()))).toBe(1)
    expect(await counted('success', sendCode(phone.code()))).toBe(1)

    const register = async () => {
      const newcomer = visit(service)
      const form = await newcomer.send(await newcomer.get(askFor(shop).path), 'Create account')
      await newcomer.send(form, 'Create account', { email: 'page@example.com', password: PASSWORD })
    }
    expect(await rise(service, 'registrations_total', { outcome: 'created' }, register)).toBe(1)
    expect(await rise(service, 'registrations_total', { outcome: 'user_exists' }, register)).toBe(1)
    expect(await rise(service, 'logins_total', {}, register)).toBe(0)
    const look = () => visit(service).get(askFor(shop).path)
    expect(await rise(service, 'logins_total', {}, look)).toBe(0)
  })

  test('refreshes are counted as success, reuse and garbage', async () => {
    const { refresh_token } = (await service.login(user.user.email, app.code)).body
    const refresh = (token: string) => () => service.call('POST', '/auth/refresh', { body: { refresh_token: token } })
    expect(await rise(service, 'refreshes_total', { outcome: 'success' }, refresh(refresh_token))).toBe(1)
    service.advance(11)
    expect(await rise(service, 'refreshes_total', { outcome: 'refresh_token_reused' }, refresh(refresh_token))).toBe(1)
    expect(await rise(service, 'refreshes_total', { outcome: 'invalid_refresh_token' }, refresh('garbage'))).toBe(1)
  })
})

test('answers with 401 or 429 are counted by their code, and other answers are not', async () => {
  const visit = (token?: string) => () => service.call('GET', '/auth/me', { token })
  expect(await rise(service, 'refusals_total', { code: 'token_invalid' }, visit('garbage'))).toBe(1)
  expect(await rise(service, 'refusals_total', { code: 'token_missing' }, visit())).toBe(1)
  const guess = () => service.login('somebody-else@example.com', app.code)
  expect(
    await rise(service, 'refusals_total', { code: 'rate_limited' }, async () => {
      for (let time = 0; time < 8; time += 1) await guess()
    }),
  ).toBeGreaterThan(0)
  expect(await rise(service, 'refusals_total', {}, () => service.call('GET', '/nowhere'))).toBe(0)
  expect(await rise(service, 'refusals_total', {}, () => service.admin('GET', '/admin/users'))).toBe(0)
})

describe('metrics of requests', () => {
  test('requests are counted and timed by route pattern and status class', async () => {
    const route = '/api/v1/admin/users/{userId}'
    const labels = { method: 'GET', route, status: '2xx' }
    const look = () => service.admin('GET', `/admin/users/${user.user.id}`)
    expect(await rise(service, 'http_requests_total', labels, look)).toBe(1)
    expect(await rise(service, 'http_request_duration_seconds_count', { method: 'GET', route }, look)).toBe(1)
    const unknown = () => service.admin('GET', '/admin/users/0190a0a0-0000-7000-8000-000000000000')
    expect(await rise(service, 'http_requests_total', { ...labels, status: '4xx' }, unknown)).toBe(1)
  })

  test('1,000 undeclared paths add no series and do not appear in the metrics', async () => {
    const canary = randomBytes(6).toString('hex')
    const visit = async (count: number) => {
      const paths = Array.from({ length: count }, (_, index) => `/${canary}/${index}/${randomBytes(3).toString('hex')}`)
      const methods = ['GET', 'POST', 'PROPFIND', 'DELETE']
      for (let from = 0; from < count; from += 50) {
        await Promise.all(
          paths.slice(from, from + 50).map((path, index) =>
            callHttp(service.url + (index % 2 === 0 ? path : `/api/v1/admin/users${path}`), methods[index % 4]!, {
              headers: { 'user-agent': canary, 'x-request-id': canary },
            }),
          ),
        )
      }
    }
    await visit(4)
    const before = await scrape(service)
    expect(await rise(service, 'http_requests_total', { method: 'none', route: 'none', status: '4xx' }, () => visit(1_000))).toBe(
      1_000,
    )
    const after = await scrape(service)
    expect(after.length).toBe(before.length)
    expect(JSON.stringify(after)).not.toContain(canary)
    const declared = [...listRoutes().map(({ path }) => `/api/v1${path}`), ...listRootRoutes().map(({ path }) => path), 'none']
    for (const { labels } of after) if (labels.route !== undefined) expect(declared).toContain(labels.route)
  })
})

describe('metrics of queues', () => {
  // The test fills a queue of three seconds of hashing, so it takes as long.
  test.skipIf(isFastLane)(
    'the wait of each password is measured, and those refused for too long a wait are counted',
    async () => {
      const service = await buildService({ AUTH_HASH_THREADS: '1', AUTH_BCRYPT_COST: '11' })
      const app = await buildApp(service, { auto_grant_on_signup: true })
      const user = await buildUser(service, app)
      expect(await rise(service, 'password_hash_wait_seconds_count', {}, () => service.login(user.user.email, app.code))).toBe(1)
      let refused = 0
      let longest = 0
      const storm = async () => {
        const hashes = Promise.allSettled(Array.from({ length: 400 }, () => service.deps.passwords.hash(PASSWORD, anyLine)))
        longest = sum(await scrape(service), 'password_hash_queue_length')!
        for (const { status, reason } of (await hashes) as PromiseRejectedResult[]) {
          if (status !== 'rejected') continue
          expect(reason).toBeInstanceOf(HashQueueFullError)
          refused += 1
        }
      }
      expect(await rise(service, 'password_hashes_refused_total', {}, storm)).toBe(refused)
      expect(refused).toBeGreaterThan(0)
      expect(longest).toBeGreaterThan(0)
      expect(sum(await scrape(service), 'password_hash_queue_length')).toBe(0)
    },
  )

  test('the outbox reports pending messages, the age of the oldest, and attempts by outcome', async () => {
    const mailbox = await startMailbox()
    // The clock stands, so a refused mail is tried again only when the test moves it.
    const service = freezeClock(await buildService({ SMTP_URL: mailbox.url }))
    const receiver = await startReceiver((response) => void response.writeHead(410).end())
    const webhooks = [{ name: 'crm', url: receiver.url, events: ['user.registered'], enabled: true }]
    const app = await buildApp(service, { webhooks })
    expect(sum(await scrape(service), 'outbox_pending', { kind: 'mail' })).toBe(0)
    await buildUser(service, app)
    await buildUser(service, app)
    service.advance(90)
    const waiting = await scrape(service)
    for (const kind of ['mail', 'webhook']) {
      expect(sum(waiting, 'outbox_pending', { kind })).toBe(2)
      expect(sum(waiting, 'outbox_oldest_due_seconds', { kind })).toBeGreaterThanOrEqual(90)
    }
    mailbox.refuse.recipient = '451 try later'
    startSending(service)
    const countRetried = async () => sum(await scrape(service), 'outbox_attempts_total', { kind: 'mail', outcome: 'retried' })
    const mails = () =>
      service.deps.db('outbox').where({ kind: 'mail' }).select('name', 'attempts', 'next_attempt_at', 'last_error')
    await expect.poll(async () => ({ retried: await countRetried(), mails: await mails() })).toMatchObject({ retried: 2 })
    expect(sum(await scrape(service), 'outbox_oldest_pending_seconds', { kind: 'mail' })).toBeGreaterThanOrEqual(90)
    mailbox.refuse = {}
    service.advance(3)
    service.deps.outboxBell.ring()
    await allSent(service)
    await until(async () => sum(await scrape(service), 'outbox_pending') === 0)
    const sent = await scrape(service)
    expect(sum(sent, 'outbox_attempts_total', { kind: 'mail', outcome: 'delivered' })).toBe(2)
    expect(sum(sent, 'outbox_attempts_total', { kind: 'webhook', outcome: 'given_up' })).toBe(2)
    expect(sum(sent, 'outbox_oldest_due_seconds')).toBe(0)
    expect(sum(sent, 'outbox_oldest_pending_seconds')).toBe(0)
  })

  test('listening consumers are counted, and the delay of each revocation is measured', async () => {
    const feed = await startRevocationFeed(service.deps)
    const url = `${service.url}/api/v1/revocations/stream`
    const stream = await openEventStream(url, assertionOf(app, { now: service.deps.clock() }))
    expect(sum(await scrape(service), 'revocation_streams')).toBe(1)
    const { access_token } = (await service.login(user.user.email, app.code)).body
    const published = await rise(service, 'revocation_lag_seconds_count', {}, async () => {
      await service.call('POST', '/auth/logout-all', { token: access_token })
      await stream.next(({ data }) => data.user_id === user.user.id)
      await until(async () => sum(await scrape(service), 'revocation_lag_seconds_count') !== 0)
    })
    expect(published).toBe(1)
    stream.close()
    await until(async () => sum(await scrape(service), 'revocation_streams') === 0)
    await feed.stop()
  })

  describe('how long a transaction has held back the cursors of the feeds', () => {
    const buildFedService = async () => {
      const service = freezeClock(await buildService())
      const feed = await startRevocationFeed(service.deps)
      onTestFinished(() => feed.stop())
      const app = await buildApp(service, { auto_grant_on_signup: true })
      const count = async () => sum(await scrape(service), 'revocation_lag_seconds_count') ?? 0
      return {
        service,
        held: async () => sum(await scrape(service), 'feed_horizon_held_seconds'),
        /** Writes a revocation, and waits until the feed has read it. */
        async revoke() {
          const { access_token } = await buildUser(service, app)
          const before = await count()
          await service.call('POST', '/auth/logout-all', { token: access_token })
          await until(async () => (await count()) > before)
        },
      }
    }

    test.runIf(testDatabase() === 'postgres')(
      'the time rises until the transaction ends, and the log warns once after five minutes',
      async () => {
        const { service, held, revoke } = await buildFedService()
        const warn = vi.spyOn(service.deps.logger, 'warn')
        const warnings = () => warn.mock.calls.filter(([, text]) => String(text).includes('pg_prepared_xacts'))
        const db = createKnex({ databaseUrl: service.deps.config.databaseUrl, dbPoolMax: 2 })
        onTestFinished(() => db.destroy())
        for (const time of [1, 2]) {
          const open = await db.transaction()
          onTestFinished(async () => void (await open.rollback()))
          const { id, xid } = (await open.raw('select pg_current_xact_id()::text as id, pg_current_xact_id()::xid::text as xid'))
            .rows[0]
          // Other tests use the same Postgres, and may have an older transaction open.
          const oldest = async () => (await db.raw('select pg_snapshot_xmin(pg_current_snapshot())::text as id')).rows[0].id
          await until(async () => (await oldest()) === id)
          await revoke()
          // Each scrape takes a second.
          service.advance(200)
          await expect.poll(held, { timeout: 5_000 }).toBeGreaterThanOrEqual(200)
          expect(warnings()).toHaveLength(time - 1)
          service.advance(100)
          await expect.poll(held, { timeout: 5_000 }).toBeGreaterThanOrEqual(300)
          service.advance(1_000)
          await expect.poll(held, { timeout: 5_000 }).toBeGreaterThanOrEqual(1_300)
          expect(warnings()).toHaveLength(time)
          expect(warnings().at(-1)?.[0]).toMatchObject({ xid: Number(xid) })
          await open.rollback()
          await expect.poll(held, { timeout: 5_000 }).toBeLessThan(200)
        }
      },
    )

    test.runIf(testDatabase() === 'sqlite')('the time is 0 on SQLite', async () => {
      const { service, held, revoke } = await buildFedService()
      await revoke()
      service.advance(1_000)
      await revoke()
      expect(await held()).toBe(0)
    })
  })
})

describe('metrics of the database', () => {
  test('a reachable database is reported as up, with the number of its connections', async () => {
    const samples = await scrape(service)
    expect(sum(samples, 'database_up')).toBe(1)
    expect(sum(samples, 'database_connections')).toBeGreaterThan(0)
    expect(sum(samples, 'database_connections_wanted')).toBe(0)
  })

  test('an unreachable database is reported as down, its own figures are missing, and the others remain', async () => {
    const service = await buildService()
    await service.login('nobody@example.com', 'authctl')
    expect(sum(await scrape(service), 'outbox_pending')).toBe(0)
    await service.deps.db.destroy()
    const samples = await scrape(service)
    expect(sum(samples, 'database_up')).toBe(0)
    expect(sum(samples, 'outbox_pending')).toBeUndefined()
    expect(sum(samples, 'outbox_oldest_due_seconds')).toBeUndefined()
    expect(sum(samples, 'outbox_oldest_pending_seconds')).toBeUndefined()
    expect(sum(samples, 'logins_total', { outcome: 'invalid_credentials' })).toBe(1)
  })

  test('a scrape does not wait for a database connection while all are taken', async () => {
    const service = await buildService({ ...realLimits, DB_POOL_MAX: '1' })
    const held = await service.deps.db.transaction()
    try {
      const stuck = service.call('GET', '/ready').then(() => undefined)
      const scrapes = await Promise.race([stuck, Promise.all([scrape(service), scrape(service)])])
      expect(scrapes, 'a scrape waits as long as a request').toBeDefined()
      await stuck
      for (const samples of scrapes!) {
        expect(sum(samples, 'database_up')).toBe(0)
        expect(sum(samples, 'database_connections', { state: 'used' })).toBe(1)
      }
    } finally {
      await held.rollback()
    }
    await until(async () => sum(await scrape(service), 'database_up') === 1)
  })
})

describe('AUTH_METRICS_TOKEN', () => {
  const token = 'the-token-of-the-scraper'

  test('/metrics answers 401 without the token and with a wrong one', async () => {
    const service = await buildService({ AUTH_METRICS_TOKEN: token })
    const ask = (bearer?: string) => callHttp(`${service.url}/metrics`, 'GET', { token: bearer })
    expectError(await ask(), 'token_missing')
    for (const wrong of ['garbage', `${token}x`, token.slice(1)]) {
      expectError(await ask(wrong), 'token_invalid', wrong)
    }
    await scrape(service, token)
  })

  test('/metrics is open outside production if no token is set, and accepts only GET', async () => {
    await scrape(service)
    expectError(await callHttp(`${service.url}/metrics`, 'POST', { body: {} }), 'method_not_allowed')
    expectError(await service.call('GET', '/metrics'), 'not_found')
  })
})

describe('/metrics in production', () => {
  test('/metrics does not exist without AUTH_METRICS_TOKEN, whatever bearer is sent', async () => {
    const service = await buildService(productionSettings)
    const nowhere = await callHttp(`${service.url}/nowhere`, 'GET')
    for (const token of [undefined, 'the-token-of-the-scraper']) {
      const { status, body } = await callHttp(`${service.url}/metrics`, 'GET', { token })
      expect([status, body.code, body.title]).toEqual([404, 'not_found', nowhere.body.title])
    }
    expectError(await callHttp(`${service.url}/metrics`, 'POST', { body: {} }), 'not_found')
  })

  test('/metrics is open only to the bearer of AUTH_METRICS_TOKEN', async () => {
    const token = 'the-token-of-the-scraper'
    const service = await buildService({ ...productionSettings, AUTH_METRICS_TOKEN: token })
    expectError(await callHttp(`${service.url}/metrics`, 'GET'), 'token_missing')
    await scrape(service, token)
  })
})

test('the figures are collected once a second, however many scrapers ask', async () => {
  const service = freezeClock(await buildService())
  let collected = 0
  const { metrics } = service.deps
  const collect = metrics.collect.bind(metrics)
  metrics.collect = (gather, now) =>
    collect(() => {
      collected += 1
      return gather()
    }, now)
  const ask = () => callHttp(`${service.url}/metrics`, 'GET')
  const first = await Promise.all(Array.from({ length: 20 }, ask))
  await callHttp(`${service.url}/nowhere`, 'GET')
  const later = await ask()
  expect(collected).toBe(1)
  expect(new Set([...first, later].map(({ body }) => body)).size).toBe(1)
  service.advance(1)
  expect((await ask()).body).not.toBe(later.body)
  expect(collected).toBe(2)
  service.advance(-3_600)
  await ask()
  expect(collected).toBe(3)
})

test('no figure contains an address, an id, a token or a requested path', async () => {
  const { service, mailbox } = await buildMailingService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const registered = await buildUser(service, app)
  const { token } = await mailbox.take(registered.user.email)
  await service.call('POST', '/auth/email/verify', { body: { token } })
  await service.admin('GET', `/admin/users/${registered.user.id}`)
  await service.login(registered.user.email, app.code, { two_factor_code: '123456' })
  const text = JSON.stringify(await scrape(service))
  const secrets = [
    registered.user.email,
    registered.user.id,
    app.id,
    app.code,
    token,
    registered.access_token,
    registered.refresh_token,
  ]
  for (const secret of secrets) expect(text).not.toContain(secret)
})
