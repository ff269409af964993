// The per-account limit, keyed by a hash of the e-mail.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { closeAccount } from '../support/factories.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { buildApp, buildService, buildUser, type Json, type Reply, someEmail, type TestService } from '../support/service.ts'

const wrong = { password: 'not this password' }

interface World {
  service: TestService
  app: Json
  user: Json
}

async function build(limit: string, settings: Record<string, string> = {}): Promise<World> {
  const service = freezeClock(await buildService({ AUTH_RATE_LIMIT_ACCOUNT: limit, AUTH_LOCKOUT_THRESHOLD: '1000', ...settings }))
  const app = await buildApp(service, { auto_grant_on_signup: true })
  return { service, app, user: (await buildUser(service, app)).user }
}

/** The counts above zero, of all accounts. */
async function countedBy(service: TestService): Promise<number[]> {
  const rows: { count: number }[] = await service.deps
    .db('rate_limits')
    .where('key', 'like', 'account:%')
    .andWhere('count', '>', 0)
  return rows.map(({ count }) => count)
}

function expectLimited(reply: Reply, seconds: number): void {
  expectError(reply, 'rate_limited')
  expect(reply.headers.get('retry-after')).toBe(String(seconds))
}

// covers limit-account
test('after COUNT wrong passwords in SECONDS, every password is 429 until the window of the first one ends', async () => {
  const { service, app, user } = await build('3/60')
  for (const seconds of [25, 20, 5]) {
    expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
    service.advance(seconds)
  }
  expectLimited(await service.login(user.email, app.code, wrong), 10)
  expectLimited(await service.login(user.email, app.code), 10)
  service.advance(9.5)
  expectLimited(await service.login(user.email, app.code), 1)
  service.advance(0.5)
  // A new window allows three again.
  for (let i = 0; i < 3; i += 1) expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
  expectLimited(await service.login(user.email, app.code), 60)
  service.advance(60)
  expect((await service.login(user.email, app.code)).status).toBe(200)
})

test('`off` limits nothing and counts nothing', async () => {
  const { service, app, user } = await build('off')
  for (let i = 0; i < 30; i += 1) expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
  expect((await service.login(user.email, app.code)).status).toBe(200)
  expect(await countedBy(service)).toEqual([])
})

test('the default limit is 20 in 300 seconds', async () => {
  const service = freezeClock(await buildService({ AUTH_LOCKOUT_THRESHOLD: '1000' }))
  const app = await buildApp(service)
  const email = someEmail()
  for (let i = 0; i < 20; i += 1) expectError(await service.login(email, app.code, wrong), 'invalid_credentials')
  expectLimited(await service.login(email, app.code), 300)
})

describe('attempts that are given back', () => {
  test('a successful login is given back, any number of times', async () => {
    const { service, app, user } = await build('2/60')
    expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
    for (let i = 0; i < 10; i += 1) expect((await service.login(user.email, app.code)).status).toBe(200)
    expect(await countedBy(service)).toEqual([1])
    expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
    expectLimited(await service.login(user.email, app.code), 60)
  })

  test('a login that is refused for another reason than its credentials is given back', async () => {
    const { service, app, user } = await build('2/60')
    const closed = await buildApp(service)
    const inactive = await buildApp(service)
    await service.admin('PATCH', `/admin/apps/${inactive.id}`, { body: { status: 'inactive' } })
    for (let i = 0; i < 3; i += 1) {
      expectError(await service.login(user.email, closed.code), 'app_access_denied')
      expectError(await service.login(user.email, inactive.code), 'app_inactive')
      expectError(await service.login(user.email, 'no-such-app'), 'app_not_found')
      expectError(await service.login(user.email, ' '), 'app_code_required')
      expectError(
        await service.login(user.email, app.code, { organization_id: randomUUID() }),
        'organization_membership_required',
      )
      expectError(await service.login(user.email, app.code, { password: '' }), 'validation_failed')
    }
    await closeAccount(service, user.id, 'suspended')
    for (let i = 0; i < 3; i += 1) expectError(await service.login(user.email, app.code), 'account_suspended')
    expect(await countedBy(service)).toEqual([])
  })

  test('an attempt is given back to its own window, and not to a later one', async () => {
    const { service, app, user } = await build('2/60')
    const { takeAttempt, giveBackAttempt } = await import('../../packages/server/src/resources/rate-limits/rate-limits.ts')
    const key = 'account:anybody'
    const limit = { count: 2, seconds: 60 }
    const old = await takeAttempt(service.deps, key, limit)
    service.advance(60)
    await takeAttempt(service.deps, key, limit)
    await giveBackAttempt(service.deps, old)
    expect(await countedBy(service)).toEqual([1])
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })

  test('an attempt that the limit refuses takes no place', async () => {
    const { service, app, user } = await build('3/60')
    const hasher = await countBcrypts(service)
    // Two wrong passwords, then more right ones at once than the limit has room for. Each login that passes frees its place.
    for (let i = 0; i < 2; i += 1) await service.login(user.email, app.code, wrong)
    const replies = await atOnce(20, () => service.login(user.email, app.code))
    expect(new Set(replies.map(({ status }) => status)).size).toBeLessThanOrEqual(2)
    expect(replies.some(({ status }) => status === 200)).toBe(true)
    expect(await countedBy(service)).toEqual([2])
    expect((await service.login(user.email, app.code)).status).toBe(200)
    expect(hasher.verified).toBe(2 + replies.filter(({ status }) => status === 200).length + 1)
  })
})

describe('attempts that count together', () => {
  test('an address counts in any spelling, through any app, by login and register_or_login', async () => {
    const { service, app, user } = await build('4/60')
    const other = await buildApp(service, { registration_namespace: 'elsewhere' })
    expectError(await service.login(` ${user.email.toUpperCase()} `, app.code, wrong), 'invalid_credentials')
    expectError(await service.login(user.email, other.code), 'invalid_credentials')
    const enter = () => service.register(user.email, app.code, { mode: 'register_or_login', ...wrong })
    expectError(await enter(), 'invalid_credentials')
    expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
    expectLimited(await enter(), 60)
    expectLimited(await service.login(user.email, other.code), 60)
    // Other addresses are not affected.
    expectError(await service.login(someEmail(), app.code, wrong), 'invalid_credentials')
    expect((await buildUser(service, app)).user).toBeDefined()
  })

  // covers login-account-limit limit-account
  test('the key of the limit does not reveal the address', async () => {
    const { service, app, user } = await build('4/60')
    await service.login(user.email, app.code, wrong)
    const rows = JSON.stringify(await service.deps.db('rate_limits'))
    expect(rows).toContain('account:')
    expect(rows).not.toContain(user.email)
    expect(rows).not.toContain(user.id)
  })
})

test('an unknown address is limited like a known one', async () => {
  const { service, app, user } = await build('3/60')
  const sequenceOf = async (email: string) => {
    const seen: unknown[] = []
    for (let i = 0; i < 5; i += 1) {
      const { status, body, headers } = await service.login(email, app.code, wrong)
      const { request_id, ...rest } = body
      seen.push([status, rest, headers.get('retry-after')])
    }
    return seen
  }
  const known = await sequenceOf(user.email)
  expect(known.map((each) => (each as [number])[0])).toEqual([401, 401, 401, 429, 429])
  expect(await sequenceOf(someEmail())).toEqual(known)
})

test('50 wrong passwords at once are verified and counted up to the limit only', async () => {
  const { service, app, user } = await build('5/60')
  const hasher = await countBcrypts(service)
  for (const email of [user.email, someEmail()]) {
    hasher.reset()
    const replies = await atOnce(50, () => service.login(email, app.code, wrong))
    expect(replies.filter(({ body }) => body.code === 'invalid_credentials')).toHaveLength(5)
    expect(replies.filter(({ body }) => body.code === 'rate_limited')).toHaveLength(45)
    expect(hasher.verified).toBe(5)
  }
  expect(await countedBy(service)).toEqual([5, 5])
})

test('50 right passwords at once give back every attempt that passes', async () => {
  const { service, app, user } = await build('5/60')
  const replies = await atOnce(50, () => service.login(user.email, app.code))
  expect(replies.every(({ status }) => status === 200 || status === 429)).toBe(true)
  expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(5)
  expect(await countedBy(service)).toEqual([])
})

// covers login-account-limit limit-address
test('the limit of the account and the limit by address do not count for each other', async () => {
  const { service, app, user } = await build('3/60', { AUTH_RATE_LIMIT_IP: '10/60' })
  await service.deps.db('rate_limits').delete()
  for (let i = 0; i < 3; i += 1) expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
  expectError(await service.login(user.email, app.code), 'rate_limited')
  // The IP address has six attempts left, for any account.
  for (let i = 0; i < 6; i += 1) expectError(await service.login(someEmail(), app.code, wrong), 'invalid_credentials')
  const email = someEmail()
  expectError(await service.login(email, app.code, wrong), 'rate_limited')
  expect(await countedBy(service)).toEqual([3, 1, 1, 1, 1, 1, 1])
})

// covers login-one-answer
test('exactly one bcrypt runs for each login, with a known or an unknown address', async () => {
  const { service, app, user } = await build('off')
  const closed = await buildApp(service)
  const bare = (await buildUser(service, app)).user
  await service.deps.db('users').where({ id: bare.id }).update({ password_hash: null })
  const deleted = (await buildUser(service, app)).user
  await closeAccount(service, deleted.id, 'deleted')
  const hasher = await countBcrypts(service)
  const tries: [string, string, object][] = [
    [user.email, app.code, {}],
    [user.email, app.code, wrong],
    [user.email, closed.code, {}],
    [someEmail(), app.code, wrong],
    [someEmail(), app.code, { password: 'x'.repeat(1_024) }],
    [bare.email, app.code, {}],
    [deleted.email, app.code, {}],
  ]
  for (const [email, code, extra] of tries) {
    hasher.reset()
    await service.login(email, code, extra as Record<string, unknown>)
    expect([hasher.verified, hasher.hashed], email).toEqual([1, 0])
  }
})
