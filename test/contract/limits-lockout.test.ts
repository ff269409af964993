// The lockout of an account after repeated failures.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { closeAccount } from '../support/factories.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, type Reply, someEmail, type TestService } from '../support/service.ts'

const wrong = { password: 'not this password' }

interface World {
  service: TestService
  app: Json
  user: Json
}

/** Three failures lock for 100 seconds. */
async function build(settings: Record<string, string> = {}): Promise<World> {
  const service = freezeClock(
    await buildService({
      AUTH_LOCKOUT_THRESHOLD: '3',
      AUTH_LOCKOUT_SECONDS: '100',
      AUTH_RATE_LIMIT_ACCOUNT: 'off',
      ...settings,
    }),
  )
  const app = await buildApp(service, { auto_grant_on_signup: true })
  return { service, app, user: (await buildUser(service, app)).user }
}

function expectLocked(reply: Reply, seconds: number): void {
  expectError(reply, 'account_locked')
  expect(reply.headers.get('retry-after')).toBe(String(seconds))
}

async function fail({ service, app }: World, email: string, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) expectError(await service.login(email, app.code, wrong), 'invalid_credentials')
}

const failuresOf = async (service: TestService): Promise<number[]> => service.deps.db('lockouts').orderBy('key').pluck('failures')

// covers state-locked login-account-state limit-lockout
test('the failure that reaches the threshold locks the account: 423 with Retry-After, with the right password too', async () => {
  const world = await build()
  const { service, app, user } = world
  await fail(world, user.email, 3)
  expectLocked(await service.login(user.email, app.code, wrong), 100)
  expectLocked(await service.login(user.email, app.code), 100)
  service.advance(99.2)
  expectLocked(await service.login(user.email, app.code), 1)
  service.advance(0.8)
  expect((await service.login(user.email, app.code)).status).toBe(200)
})

test('attempts during a lock do not count, do not prolong it, and verify nothing', async () => {
  const world = await build()
  const { service, app, user } = world
  await fail(world, user.email, 3)
  const hasher = await countBcrypts(service)
  for (let i = 0; i < 9; i += 1) {
    service.advance(10)
    expectLocked(await service.login(user.email, app.code, wrong), 90 - i * 10)
  }
  expect(hasher.verified).toBe(0)
  service.advance(10)
  // The count is at zero again: two failures do not lock, a third would.
  await fail(world, user.email, 2)
  expect((await service.login(user.email, app.code)).status).toBe(200)
})

// covers limit-lockout
test('the count starts at zero after a lock', async () => {
  const world = await build()
  const { service, app, user } = world
  await fail(world, user.email, 3)
  service.advance(100)
  await fail(world, user.email, 3)
  expectLocked(await service.login(user.email, app.code), 100)
})

test('the count starts at zero when no failure follows for the lock time, and each failure before that keeps it', async () => {
  const world = await build()
  const { service, app, user } = world
  await fail(world, user.email, 2)
  service.advance(100)
  await fail(world, user.email, 1)
  service.advance(99)
  await fail(world, user.email, 1)
  service.advance(99)
  await fail(world, user.email, 1)
  expectLocked(await service.login(user.email, app.code), 100)
})

test('a threshold of one locks at the first failure, each time', async () => {
  const world = await build({ AUTH_LOCKOUT_THRESHOLD: '1' })
  const { service, app, user } = world
  for (let round = 0; round < 3; round += 1) {
    await fail(world, user.email, 1)
    expectLocked(await service.login(user.email, app.code), 100)
    service.advance(100)
  }
})

test('the defaults are 10 failures and 900 seconds', async () => {
  const service = freezeClock(await buildService())
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  await fail({ service, app, user }, user.email, 10)
  expectLocked(await service.login(user.email, app.code), 900)
})

describe('a complete login', () => {
  test('a complete login clears the count', async () => {
    const world = await build()
    const { service, app, user } = world
    for (let round = 0; round < 3; round += 1) {
      await fail(world, user.email, 2)
      expect((await service.login(user.email, app.code)).status).toBe(200)
      expect(await failuresOf(service)).toEqual([])
    }
  })

  test('a right password that is refused later does not count, clear or prolong the count', async () => {
    const world = await build()
    const { service, app, user } = world
    const closed = await buildApp(service)
    await fail(world, user.email, 2)
    const refuseAll = async () => {
      for (let i = 0; i < 3; i += 1) {
        expectError(await service.login(user.email, closed.code), 'app_access_denied')
        const elsewhere = { organization_id: randomUUID() }
        expectError(await service.login(user.email, app.code, elsewhere), 'organization_membership_required')
        expectError(await service.login(user.email, 'no-such-app'), 'app_not_found')
      }
    }
    await refuseAll()
    expect(await failuresOf(service)).toEqual([2])
    service.advance(60)
    await refuseAll()
    service.advance(40)
    // 100 seconds after the last failure, whatever happened in between.
    await fail(world, user.email, 2)
    expect(await failuresOf(service)).toEqual([2])
    await fail(world, user.email, 1)
    expectLocked(await service.login(user.email, closed.code), 100)
    expectLocked(await service.login(user.email, app.code), 100)
  })

  test('the right password of a suspended user does not clear the count', async () => {
    const world = await build()
    const { service, app, user } = world
    await fail(world, user.email, 1)
    await closeAccount(service, user.id, 'suspended')
    expectError(await service.login(user.email, app.code), 'account_suspended')
    await fail(world, user.email, 2)
    expectLocked(await service.login(user.email, app.code), 100)
  })

  test('register_or_login counts and clears like a login', async () => {
    const world = await build()
    const { service, app, user } = world
    const enter = (extra: object = {}) => service.register(user.email, app.code, { mode: 'register_or_login', ...extra })
    expectError(await enter(wrong), 'invalid_credentials')
    await fail(world, user.email, 1)
    expect((await enter()).status).toBe(200)
    expect(await failuresOf(service)).toEqual([])
    await fail(world, user.email, 2)
    expectError(await enter(wrong), 'invalid_credentials')
    expectLocked(await enter(), 100)
  })
})

test('the failures of one user count through all apps together, and other users are not affected', async () => {
  const world = await build()
  const { service, app, user } = world
  const second = await buildApp(service, { auto_grant_on_signup: true })
  const neighbour = (await buildUser(service, app)).user
  expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
  expectError(await service.login(user.email, second.code, wrong), 'invalid_credentials')
  expectError(await service.login(user.email.toUpperCase(), second.code, wrong), 'invalid_credentials')
  for (const code of [app.code, second.code]) expectLocked(await service.login(user.email, code), 100)
  expect((await service.login(neighbour.email, app.code)).status).toBe(200)
})

test('two users with one address are locked separately', async () => {
  const { service, app, user } = await build()
  const elsewhere = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: 'elsewhere' })
  await service.register(user.email, elsewhere.code)
  for (let i = 0; i < 3; i += 1) await service.login(user.email, app.code, wrong)
  expectLocked(await service.login(user.email, app.code), 100)
  expect((await service.login(user.email, elsewhere.code)).status).toBe(200)
})

test('an unknown address, one outside the pools and a deleted one are counted and answered like that of a user', async () => {
  const { service, app, user } = await build()
  const elsewhere = await buildApp(service, { registration_namespace: 'elsewhere' })
  const outside = (await buildUser(service, elsewhere)).user
  const deleted = (await buildUser(service, app)).user
  await closeAccount(service, deleted.id, 'deleted')
  const emails = [user.email, someEmail(), outside.email, deleted.email]
  const seen = emails.map((): unknown[] => [])
  // All addresses go through the same steps on one clock: failures, the lock, its end, failures
  // again, a pause as long as the lock, one more.
  for (const pause of [0, 10, 10, 0, 50, 49, 1, 0, 100, 0, 0, 0, 5]) {
    service.advance(pause)
    for (const [index, email] of emails.entries()) {
      const { status, body, headers } = await service.login(email, app.code, wrong)
      const { request_id, ...rest } = body
      const names = [...headers.keys()].sort().join()
      seen[index]!.push([status, rest, headers.get('retry-after'), names])
    }
  }
  expect(new Set(seen.flat().map((each) => (each as [number])[0]))).toEqual(new Set([401, 423]))
  for (const sequence of seen) expect(sequence).toEqual(seen[0])
})

test('the key of a lockout does not reveal the address', async () => {
  const { service, app, user } = await build()
  for (const email of [user.email, someEmail()]) await service.login(email, app.code, wrong)
  const rows: { key: string }[] = await service.deps.db('lockouts')
  expect(rows).toHaveLength(2)
  for (const { key } of rows) expect(key).toMatch(/^address:[A-Za-z0-9_-]{43}:default$/)
})

describe('failures through several apps', () => {
  /** Fails a login for each address through these apps in turn. Returns what each address saw. */
  async function tell(service: TestService, codes: readonly string[], emails: readonly string[]): Promise<unknown[]> {
    const seen = emails.map((): unknown[] => [])
    for (const code of codes) {
      for (const [index, email] of emails.entries()) {
        const { status, headers } = await service.login(email, code, wrong)
        seen[index]!.push([status, headers.get('retry-after')])
      }
    }
    return seen
  }

  test('failures through apps with the same, overlapping and other pools do not reveal who has an address', async () => {
    const { service } = await build()
    const poolsOf = (registration_namespace: string, ...read_namespaces: string[]) =>
      buildApp(service, { registration_namespace, read_namespaces, auto_grant_on_signup: true })
    const [staff, both, partners, others] = await Promise.all([
      poolsOf('staff'),
      poolsOf('partners', 'staff'),
      poolsOf('partners'),
      poolsOf('others'),
    ])
    const [one, two, three] = [
      await buildUser(service, staff),
      await buildUser(service, both),
      await buildUser(service, partners),
    ]
    const emails = [one.user.email, two.user.email, three.user.email, someEmail()]
    const codes = [staff, staff, staff, both, partners, others, partners, partners, both, others].map(({ code }) => code)
    const seen = await tell(service, codes, emails)
    for (const each of seen) expect(each).toEqual(seen[0])
    // An address that is locked in one pool is locked in every app that sees that pool. Nothing is counted meanwhile.
    expect(seen[0]).toEqual([
      ...[401, 401, 401].map((status) => [status, null]),
      [423, '100'],
      [401, null],
      [401, null],
      [401, null],
      [401, null],
      [423, '100'],
      [401, null],
    ])
  })

  test('the answer shows the longest of several locks', async () => {
    const { service } = await build()
    const staff = await buildApp(service, { registration_namespace: 'staff' })
    const partners = await buildApp(service, { registration_namespace: 'partners' })
    const both = await buildApp(service, { registration_namespace: 'partners', read_namespaces: ['staff'] })
    const email = someEmail()
    for (let i = 0; i < 3; i += 1) await service.login(email, staff.code, wrong)
    service.advance(40)
    for (let i = 0; i < 3; i += 1) await service.login(email, partners.code, wrong)
    expectLocked(await service.login(email, both.code), 100)
    expectLocked(await service.login(email, staff.code), 60)
  })

  test('a complete login clears every pool of the app except those in which another user has the address', async () => {
    const { service } = await build()
    const own = await buildApp(service, { registration_namespace: 'own', auto_grant_on_signup: true })
    const theirs = await buildApp(service, { registration_namespace: 'theirs', auto_grant_on_signup: true })
    const { user } = await buildUser(service, own)
    await service.register(user.email, theirs.code, { password: 'the password of the other' })
    const both = await buildApp(service, {
      registration_namespace: 'own',
      read_namespaces: ['free', 'theirs'],
      auto_grant_on_signup: true,
    })
    for (let i = 0; i < 2; i += 1) await service.login(user.email, both.code, wrong)
    expect((await service.login(user.email, both.code)).status).toBe(200)
    const left: { key: string; failures: number }[] = await service.deps.db('lockouts').orderBy('key')
    expect(left.map(({ key, failures }) => [key.split(':')[2], failures])).toEqual([['theirs', 2]])
    expectError(await service.login(user.email, theirs.code, wrong), 'invalid_credentials')
    expectLocked(await service.login(user.email, theirs.code, { password: 'the password of the other' }), 100)
    // The lock of the other user affects this one only in apps that see that pool.
    expectLocked(await service.login(user.email, both.code), 100)
    expect((await service.login(user.email, own.code)).status).toBe(200)
  })
})

// covers login-failures-count
test('the lock is audited once, each wrong password with its reason, and refusals during the lock as a count', async () => {
  const world = await build()
  const { service, app, user } = world
  await fail(world, user.email, 3)
  for (let i = 0; i < 2; i += 1) await service.login(user.email, app.code)
  expect(await auditEvents(service, { event: 'user.locked' })).toMatchObject([
    { user_id: user.id, app_id: app.id, details: { email: user.email } },
  ])
  const failed = await auditEvents(service, { event: 'login.failed', user_id: user.id })
  // The ids of what is counted are not in the order of one millisecond.
  expect(failed.map(({ reason, count }) => `${reason} ${count}`).sort()).toEqual([
    'account_locked 2',
    ...Array(3).fill('wrong_password 1'),
  ])
})

test('a failure counts even if the client disconnects', async () => {
  const { service, app, user } = await build()
  const hasher = await countBcrypts(service)
  const client = new AbortController()
  hasher.onVerify = () => client.abort()
  const sent = fetch(`${service.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: user.email, app_code: app.code, ...wrong }),
    signal: client.signal,
  })
  await expect(sent).rejects.toThrow()
  await expect.poll(() => failuresOf(service)).toEqual([1])
  expect(hasher.verified).toBe(1)
})

describe('GET /admin/lockouts', () => {
  test('the list shows locks and counted failures, with the e-mail if a user has it', async () => {
    const { service, app, user } = await build()
    const nobody = someEmail()
    const { device_token } = (await service.login(user.email, app.code)).body
    for (let i = 0; i < 3; i += 1) await service.login(user.email, app.code, wrong)
    await service.login(user.email, app.code, { ...wrong, device_token })
    await service.login(nobody, app.code, wrong)
    const list = async () => (await service.admin('GET', '/admin/lockouts')).body.items
    const items: Json[] = await list()
    expect(items.map(({ key }) => key)).toEqual(items.map(({ key }) => key).sort())
    const lockedUntil = new Date(service.deps.clock() + 100_000).toISOString()
    expect(items.map(({ key: _, ...item }) => item)).toEqual(
      expect.arrayContaining([
        { email: user.email, pool: 'default', locked_until: lockedUntil, failures: 3 },
        { email: user.email, pool: null, locked_until: null, failures: 1 },
        { email: null, pool: 'default', locked_until: null, failures: 1 },
      ]),
    )
    expect(items).toHaveLength(3)
    expect(JSON.stringify(items)).not.toContain(nobody)

    const first = (await service.admin('GET', '/admin/lockouts?limit=2')).body
    const rest = (await service.admin('GET', `/admin/lockouts?limit=2&cursor=${first.next_cursor}`)).body
    expect([...first.items, ...rest.items]).toEqual(items)
    expect(rest.next_cursor).toBeNull()

    // An address that the user no longer has is not shown.
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { email: someEmail() } })
    const emails = (await list()).filter(({ pool }: Json) => pool !== null).map(({ email }: Json) => email)
    expect(emails).toEqual([null, null])
    service.advance(100)
    expect(await list()).toEqual([])
  })
})
