// Passwords wait for their hash in lines that are served in turn: a flood from one user or one address is its own problem.
import { expect, test } from 'vitest'
import { newDeviceToken } from '../../packages/server/src/lib/device-token.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import {
  anyLine,
  buildApp,
  buildService,
  buildUser,
  type Json,
  PASSWORD,
  type Reply,
  type TestService,
} from '../support/service.ts'

const oneThread = { AUTH_HASH_THREADS: '1', AUTH_TRUST_PROXY: '1', AUTH_RATE_LIMIT_ACCOUNT: 'off' }
/**
 * Far more than the some 300 hashes that fill the longest allowed wait, even if the machine turns
 * three times as fast, or ten times as slow.
 */
const more = 1_000
/** The size of a flood in one line, and how many of its hashes a thread works on at once, which end in any order. */
const [standing, atOnce] = [60, 4]

/**
 * One thread, and hashes so expensive that some 300 fill the longest allowed wait. The cost comes from the
 * best of five measurements on this machine.
 */
async function buildNarrowService(): Promise<TestService> {
  const { deps } = await buildService({ ...oneThread, AUTH_BCRYPT_COST: '6' })
  let each = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 5; tries++) {
    const started = performance.now()
    await Promise.all(Array.from({ length: 20 }, () => deps.passwords.hash(PASSWORD, anyLine)))
    each = Math.min(each, (performance.now() - started) / 20)
  }
  const cost = Math.min(Math.max(6 + Math.round(Math.log2(10 / each)), 6), 12)
  return buildService({ ...oneThread, AUTH_BCRYPT_COST: String(cost) })
}

const from = (address: string) => ({ 'x-forwarded-for': address })

async function sumOf({ deps }: TestService, table: string, column: string, key: string): Promise<number> {
  const [row] = await deps.db(table).where('key', 'like', key).sum({ sum: column })
  return Number(row!.sum)
}

function login(service: TestService, user: Json, app: Json, address: string): Promise<Reply> {
  const body = { email: user.email, password: PASSWORD, app_code: app.code }
  return service.call('POST', '/auth/login', { body, headers: from(address) })
}

test('a user who changes the password 24 times at once and an address that logs in 1,000 times cost 20 others no 503', async () => {
  const service = await buildNarrowService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user: flooded, access_token: token } = await buildUser(service, app)
  const others = await Promise.all(Array.from({ length: 20 }, () => buildUser(service, app)))

  const change = { current_password: 'a wrong password', new_password: 'another horse battery staple' }
  const halfOfFlood = () => Array.from({ length: more / 2 }, () => login(service, flooded, app, '192.0.2.1'))
  const changes = Array.from({ length: 24 }, () => service.call('POST', '/auth/password/change', { body: change, token }))
  const before = [...changes, ...halfOfFlood()]
  const amidst = others.map(({ user }, index) => login(service, user, app, `2001:db8:${index}::1`))
  const flood = [...before, ...halfOfFlood()]
  let flooding = flood.length
  for (const each of flood) each.then(() => flooding--)
  const answers = await Promise.all(amidst)
  expect(answers.map(({ status }) => status)).toEqual(others.map(() => 200))
  // They were served in turn with the flood, not after it.
  expect(flooding).toBeGreaterThan(0)

  const refused = (await Promise.all(flood)).filter(({ status }) => status === 503)
  expect(refused.length).toBeGreaterThan(0)
  for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
})

test('an address that brings 1,000 known devices costs 20 others no 503', async () => {
  const service = await buildNarrowService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const others = await Promise.all(Array.from({ length: 20 }, () => buildUser(service, app)))
  const { encryptionKeys } = service.deps.config
  const owner = { id: user.id, email: user.email, min_token_version: 0, factor_activated_at: null }
  const device = () => newDeviceToken(encryptionKeys, owner, service.deps.clock())
  const known = (device_token: string) => ({ email: user.email, password: PASSWORD, app_code: app.code, device_token })
  const flood = Array.from({ length: more }, () =>
    service.call('POST', '/auth/login', { body: known(device()), headers: from('192.0.2.1') }),
  )
  const answers = await Promise.all(others.map(({ user }, index) => login(service, user, app, `2001:db8:${index}::1`)))
  expect(answers.map(({ status }) => status)).toEqual(others.map(() => 200))
  const refused = (await Promise.all(flood)).filter(({ status }) => status === 503)
  expect(refused.length).toBeGreaterThan(0)
})

test('what is refused for want of room is counted by no limit and no lockout', async () => {
  // Hashes so expensive that 1,000 of them fill the longest allowed wait on any machine. They are all
  // for one user, whose row they write in turn.
  const unlimited = { AUTH_RATE_LIMIT_ACCOUNT: '1000/300', AUTH_LOCKOUT_THRESHOLD: '1000' }
  const service = await buildService({ ...oneThread, AUTH_BCRYPT_COST: '12', ...unlimited })
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const wrong = { email: user.email, password: 'a wrong password', app_code: app.code }
  const statuses = await Promise.all(
    Array.from({ length: more }, async () => (await service.call('POST', '/auth/login', { body: wrong })).status),
  )
  const tried = statuses.filter((status) => status === 401).length
  expect(statuses.filter((status) => status === 503)).toHaveLength(more - tried)
  expect(tried).toBeLessThan(more)
  expect(await sumOf(service, 'rate_limits', 'count', 'account:%')).toBe(tried)
  expect(await sumOf(service, 'lockouts', 'failures', '%')).toBe(tried)
  expect(await service.deps.db('audit_events').where({ event: 'login.failed' })).toHaveLength(tried)
})

/** Sends a flood, waits until all of it is in line, then sends one more. Returns whether that one was served after the flood. */
async function isServedBehind(service: TestService, flood: () => Promise<Reply>, late: () => Promise<Reply>): Promise<boolean> {
  const hasher = await countBcrypts(service)
  const order: string[] = []
  const note = async (who: string, reply: Promise<Reply>) => {
    expect((await reply).status).toBe(200)
    order.push(who)
  }
  const flooding = Array.from({ length: standing }, () => note('flood', flood()))
  await expect.poll(() => hasher.verified).toBe(standing)
  await Promise.all([...flooding, note('late', late())])
  return order.indexOf('late') > standing - atOnce
}

test('a known device waits in a line of its own, behind no flood from its address', async () => {
  const service = await buildNarrowService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, device_token } = await buildUser(service, app)
  const known = { email: user.email, password: PASSWORD, app_code: app.code, device_token }
  const late = () => service.call('POST', '/auth/login', { body: known, headers: from('192.0.2.1') })
  expect(await isServedBehind(service, () => login(service, user, app, '192.0.2.1'), late)).toBe(false)
})

test.each([
  ['of one /48 wait in one line', '2001:db8:1:1::1', '2001:db8:1:2::2', true],
  ['of two wait in two', '2001:db8:1::1', '2001:db8:2::1', false],
])('IPv6 addresses %s', async (_, one, other, isOneLine) => {
  const service = await buildNarrowService()
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const flood = () => login(service, user, app, one)
  expect(await isServedBehind(service, flood, () => login(service, user, app, other))).toBe(isOneLine)
})
