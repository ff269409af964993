// What an operator looks at while something is wrong: logins by outcome, who fails, what is locked, what waits, and who lacks the
// current secret.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { newId } from '../../packages/server/src/lib/uuid.ts'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'

const service = serviceFixture(
  { AUTH_TRUST_PROXY: '1', AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: 'off' },
  { frozen: true },
)
const app = appFixture(service)
const rita: Json = fixture(() => buildUser(service, app))

const stats = async (since?: number): Promise<Json> => {
  const query = since === undefined ? '' : `?since=${new Date(since).toISOString()}`
  const { status, body } = await service.admin('GET', `/admin/stats${query}`)
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** Starts a period in which nothing has happened yet. Returns its start. */
async function begin(): Promise<number> {
  await service.admin('GET', '/admin/settings')
  service.advance(1)
  const from = service.deps.clock()
  service.advance(1)
  return from
}

async function login(email: string, password: string, ip: string): Promise<number> {
  const body = { email, password, app_code: app.code }
  return (await service.call('POST', '/auth/login', { body, headers: { 'x-forwarded-for': ip } })).status
}

const outcomes = ({ logins }: Json) => Object.fromEntries(logins.outcomes.map(({ outcome, count }: Json) => [outcome, count]))
const total = ({ logins }: Json, of: 'succeeded' | 'failed') =>
  logins.steps.reduce((sum: number, step: Json) => sum + step[of], 0)

test('logins are counted by outcome, and failed ones also by IP address and e-mail address', async () => {
  const since = await begin()
  const stranger = `${randomUUID()}@example.com`
  const { user } = await buildUser(service, app)
  expect(await login(user.email, 'a wrong password', '192.0.2.1')).toBe(401)
  expect(await login(stranger, 'a wrong password', '192.0.2.1')).toBe(401)
  service.advance(1)
  expect(await login(stranger, 'a wrong password', '192.0.2.2')).toBe(401)
  expect((await service.login(user.email, app.code)).status).toBe(200)

  const found = await stats(since)
  expect(outcomes(found)).toEqual({ success: 1, unknown_user: 2, wrong_password: 1 })
  expect(found.logins.outcomes[0]).toEqual({ outcome: 'unknown_user', count: 2 })
  const now = new Date(service.deps.clock())
  const before = new Date(now.getTime() - 1000)
  expect(found.failing_addresses).toEqual([
    { ip: '192.0.2.1', failures: 2, last_failed_at: before.toISOString() },
    { ip: '192.0.2.2', failures: 1, last_failed_at: now.toISOString() },
  ])
  expect(found.failing_emails).toEqual([
    { email: stranger, user_id: null, pool: null, failures: 2, last_failed_at: now.toISOString() },
    { email: user.email, user_id: user.id, pool: user.namespace, failures: 1, last_failed_at: before.toISOString() },
  ])
})

test('logins are counted by time, from the requested time on', async () => {
  const since = await begin()
  await login(rita.user.email, 'a wrong password', '192.0.2.1')
  service.advance(57)
  await service.login(rita.user.email, app.code)
  const { at, logins } = await stats(since)
  expect(logins).toMatchObject({ since: new Date(since).toISOString(), counted_since: new Date(since).toISOString() })
  expect(logins.steps[0].at).toBe(logins.since)
  expect(logins.steps.length).toBeLessThanOrEqual(60)
  const ends = (index: number) => Date.parse(logins.steps[index + 1]?.at ?? at) + (logins.steps[index + 1] ? -1 : 0)
  const found = logins.steps.flatMap(({ at, succeeded, failed }: Json, index: number) =>
    succeeded + failed === 0 ? [] : [{ from: Date.parse(at) - since, to: ends(index) - since, succeeded, failed }],
  )
  expect(found.map(({ succeeded, failed }: Json) => [succeeded, failed])).toEqual([
    [0, 1],
    [1, 0],
  ])
  for (const [index, moment] of [1_000, 58_000].entries()) {
    expect(found[index].from).toBeLessThanOrEqual(moment)
    expect(found[index].to).toBeGreaterThanOrEqual(moment)
  }
  // The last hour, unless the caller asks for another time.
  const usual = await stats()
  expect(Date.parse(usual.at) - Date.parse(usual.logins.since)).toBe(3_600_000)
})

test('refusals that the audit counts in one event are all counted', async () => {
  const since = await begin()
  const email = `${randomUUID()}@example.com`
  for (let tries = 0; tries < 3; tries += 1) await login(email, 'a wrong password', '192.0.2.3')
  for (let tries = 0; tries < 4; tries += 1) expect(await login(email, 'a wrong password', '192.0.2.3')).toBe(423)
  const found = await stats(since)
  expect(outcomes(found)).toEqual({ unknown_user: 3, account_locked: 4 })
  expect(found.failing_addresses).toMatchObject([{ ip: '192.0.2.3', failures: 7 }])
  expect(found.failing_emails).toMatchObject([{ email, failures: 7 }])
})

test('refusals of several accounts that the audit counts in one event are counted against no account', async () => {
  const since = await begin()
  const [one, other] = [`${randomUUID()}@example.com`, `${randomUUID()}@example.com`]
  for (const email of [one, other]) {
    for (let tries = 0; tries < 3; tries += 1) await login(email, 'a wrong password', '192.0.2.4')
    for (let tries = 0; tries < 5; tries += 1) expect(await login(email, 'a wrong password', '192.0.2.4')).toBe(423)
  }
  const found = await stats(since)
  expect(outcomes(found)).toEqual({ unknown_user: 6, account_locked: 10 })
  expect(found.failing_addresses).toMatchObject([{ ip: '192.0.2.4', failures: 16 }])
  expect(found.failing_emails.map(({ email, failures }: Json) => [email, failures]).sort()).toEqual(
    [one, other].map((email) => [email, 3]).sort(),
  )
})

test('an erased user has no e-mail address in the statistics', async () => {
  const since = await begin()
  const { user } = await buildUser(service, app)
  await login(user.email, 'a wrong password', '192.0.2.1')
  await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
  expect((await stats(since)).failing_emails).toMatchObject([{ email: null, user_id: user.id, pool: null, failures: 1 }])
})

test('the newest 2,000 logins of each outcome are counted, and the answer says since when', async () => {
  const since = await begin()
  const from = service.deps.clock()
  const many = 2_010
  // `newId` never returns an id below an earlier one of this process, even if the clock of an earlier test was ahead.
  const event = (name: string, index: number) => {
    const at = from + index * 10
    const reason = name === 'login.failed' ? 'made_up' : null
    return { id: newId(at), event: name, reason, actor_type: 'anonymous', at, ip: '192.0.2.9' }
  }
  const rows = Array.from({ length: many }, (_, index) => event('login.success', index))
  for (let start = 0; start < many; start += 500) await service.deps.db('audit_events').insert(rows.slice(start, start + 500))
  await service.deps.db('audit_events').insert([event('login.failed', 3), event('login.failed', many - 1)])
  service.advance(60)

  const found = await stats(since)
  expect(found.logins.since).toBe(new Date(since).toISOString())
  expect(found.logins.counted_since).toBe(new Date(from + 90).toISOString())
  // Both are counted from the same moment on, so they can be compared.
  expect(outcomes(found)).toEqual({ success: 2_001, made_up: 1 })
  expect([total(found, 'succeeded'), total(found, 'failed')]).toEqual([2_001, 1])
  expect(found.failing_addresses).toMatchObject([{ ip: '192.0.2.9', failures: 1 }])
  service.advance(3_600 * 2)
})

test('current locks are listed, newest first', async () => {
  const before = (await stats()).locked.count
  const { user } = await buildUser(service, app)
  for (let tries = 0; tries < 3; tries += 1) await login(user.email, 'a wrong password', '192.0.2.1')
  const { locked } = await stats()
  expect(locked.count).toBe(before + 1)
  expect(locked.items[0]).toMatchObject({ email: user.email, pool: user.namespace, failures: 3 })
  service.advance(901)
  expect((await stats()).locked).toEqual({ count: 0, items: [] })
})

test('the statistics say for how long messages have waited to be sent', async () => {
  const webhooks = [{ name: 'crm', url: 'https://example.com/hook' }]
  const announced = await buildApp(service, { auto_grant_on_signup: true, webhooks })
  const waiting = (found: Json) => found.outbox.find(({ kind }: Json) => kind === 'webhook')
  expect(waiting(await stats())).toEqual({ kind: 'webhook', pending: 0, oldest_pending_seconds: 0, oldest_due_seconds: 0 })
  await service.register(`${randomUUID()}@example.com`, announced.code)
  service.advance(90)
  expect(waiting(await stats())).toEqual({ kind: 'webhook', pending: 1, oldest_pending_seconds: 90, oldest_due_seconds: 90 })
  // It waits for another attempt.
  const next_attempt_at = service.deps.clock() + 60_000
  await service.deps.db('outbox').where({ app_id: announced.id, kind: 'webhook' }).update({ attempts: 1, next_attempt_at })
  expect(waiting(await stats())).toMatchObject({ pending: 1, oldest_pending_seconds: 90, oldest_due_seconds: 0 })
})

test('webhooks whose deliveries were given up are counted by the time when these were first sent', async () => {
  const since = await begin()
  const webhooks = [
    { name: 'crm', url: 'https://example.com/hook' },
    { name: 'chat', url: 'https://example.com/chat' },
  ]
  const announced = await buildApp(service, { auto_grant_on_signup: true, webhooks })
  const registered: Json[] = []
  for (let turn = 0; turn < 3; turn += 1)
    registered.push((await service.register(`${randomUUID()}@example.com`, announced.code)).body.user)
  expect((await stats(since)).failed_webhooks).toEqual([])
  const ended = service.deps.clock()
  const end = (name: string, status: string) =>
    service.deps.db('outbox').where({ app_id: announced.id, kind: 'webhook', name }).update({ status, finished_at: ended })
  await end('crm', 'failed')
  await end('chat', 'delivered')
  await service.deps.db('outbox').where({ user_id: registered[0]!.id, name: 'chat' }).update({ status: 'failed' })
  const last_failed_at = new Date(ended).toISOString()
  const row = (webhook: string, failed: number) => ({ app_code: announced.code, webhook, failed, last_failed_at })
  expect((await stats(since)).failed_webhooks).toEqual([row('crm', 3), row('chat', 1)])
  // Messages about an erased user cannot be sent again.
  await service.admin('DELETE', `/admin/users/${registered[0]!.id}?erase=true`)
  expect((await stats(since)).failed_webhooks).toEqual([row('crm', 2)])
  service.advance(1)
  expect((await stats(service.deps.clock() - 1)).failed_webhooks).toEqual([])
})

test('apps are named while consumers without the current secret were seen in the last five minutes', async () => {
  const poll = async (of: Json, secret: string) => {
    const now = service.deps.clock()
    const token = assertionOf(of, { now, claims: { kids: [kidOf(secret)] } })
    expect((await service.call('GET', '/revocations', { token })).status).toBe(200)
    return new Date(now).toISOString()
  }
  const current = service.deps.config.accessSecret
  const old = 'a secret that was signed with before, of 32 characters'
  const [one, other, good] = [await buildApp(service), await buildApp(service), await buildApp(service)]
  const begun = await stats()
  const oldAt = await poll(one, old)
  await poll(other, old)
  await poll(good, current)
  service.advance(120)
  const newAt = await poll(one, current)

  const { consumers } = await stats()
  expect([consumers.app_count - begun.consumers.app_count, consumers.behind_count]).toEqual([3, 2])
  expect(consumers.behind).toEqual(
    [
      { app_code: one.code, current_last_seen_at: newAt, behind_last_seen_at: oldAt },
      { app_code: other.code, current_last_seen_at: null, behind_last_seen_at: oldAt },
    ].sort((a, b) => (a.app_code < b.app_code ? -1 : 1)),
  )
  service.advance(240)
  await poll(one, current)
  expect((await stats()).consumers.behind.map(({ app_code }: Json) => app_code)).toEqual([other.code])
})

test.each([
  ['yesterday', 'must be ISO 8601: 2026-01-31T12:00:00Z, a time with an offset, or a date'],
  ['2100-01-01', 'must be in the past'],
  ['2020-01-01', 'must be at most 7 days ago'],
])('since=%s is refused with an error at that parameter', async (since, message) => {
  const { status, body } = await service.admin('GET', `/admin/stats?since=${since}`)
  expect([status, body.errors]).toEqual([400, [{ path: 'since', code: 'invalid_value', message }]])
})
