// Passwords wait for their hash in lines that are served in turn: a flood from one user or one address is its own problem.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { newDeviceToken } from '../../packages/server/src/lib/device-token.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type Reply, type TestService } from '../support/service.ts'

/** One thread, and hashes so expensive that logins arrive faster than it can serve them, even through a single connection. */
const narrow = { AUTH_HASH_THREADS: '1', AUTH_TRUST_PROXY: '1', AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_BCRYPT_COST: '9' }
/** The size of a flood that has room, and how many of its hashes a thread works on at once, which end in any order. */
const [standing, atOnce] = [20, 4]
/** So few that there is room for all of them, however slow the machine is. */
const otherUsers = 8
/** More logins than there is ever room for. */
const tooMany = 10_000

const from = (address: string) => ({ 'x-forwarded-for': address })

async function sumOf({ deps }: TestService, table: string, column: string, key: string): Promise<number> {
  const [row] = await deps.db(table).where('key', 'like', key).sum({ sum: column })
  return Number(row!.sum)
}

function login(service: TestService, user: Json, app: Json, address: string): Promise<Reply> {
  const body = { email: user.email, password: PASSWORD, app_code: app.code }
  return service.call('POST', '/auth/login', { body, headers: from(address) })
}

/** Sends logins without waiting for the answers, until one is refused for want of room. Returns all answers to come. */
async function floodUntilRefused(login: () => Promise<Reply>): Promise<Promise<Reply>[]> {
  const sent: Promise<Reply>[] = []
  let refused = false
  const note = (reply: Reply) => {
    refused ||= reply.status === 503
    return reply
  }
  while (!refused && sent.length < tooMany) {
    sent.push(login().then(note))
    await nextTurn()
  }
  expect(refused).toBe(true)
  return sent
}

test('a user who changes the password 24 times at once and a flooding address cause no 503 for 8 other users', async () => {
  const service = await buildService(narrow)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user: flooded, access_token: token } = await buildUser(service, app)
  const others = await Promise.all(Array.from({ length: otherUsers }, () => buildUser(service, app)))

  const change = { current_password: 'a wrong password', new_password: 'another horse battery staple' }
  const changes = Array.from({ length: 24 }, () => service.call('POST', '/auth/password/change', { body: change, token }))
  const flood = [...changes, ...(await floodUntilRefused(() => login(service, flooded, app, '192.0.2.1')))]
  const amidst = others.map(({ user }, index) => login(service, user, app, `2001:db8:${index}::1`))
  flood.push(...Array.from({ length: 100 }, () => login(service, flooded, app, '192.0.2.1')))
  let flooding = flood.length
  for (const each of flood) each.then(() => flooding--)
  const answers = await Promise.all(amidst)
  expect(answers.map(({ status }) => status)).toEqual(others.map(() => 200))
  // They were served in turn with the flood, not after it.
  expect(flooding).toBeGreaterThan(0)

  const refused = (await Promise.all(flood)).filter(({ status }) => status === 503)
  for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
})

test('an address that sends ever more known devices causes no 503 for 8 other users', async () => {
  const service = await buildService(narrow)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const others = await Promise.all(Array.from({ length: otherUsers }, () => buildUser(service, app)))
  const { encryptionKeys } = service.deps.config
  const owner = { id: user.id, email: user.email, min_token_version: 0, factor_activated_at: null }
  const device = () => newDeviceToken(encryptionKeys, owner, { now: service.deps.clock(), minIat: 0 })
  const known = (device_token: string) => ({ email: user.email, password: PASSWORD, app_code: app.code, device_token })
  const flood = await floodUntilRefused(() =>
    service.call('POST', '/auth/login', { body: known(device()), headers: from('192.0.2.1') }),
  )
  const answers = await Promise.all(others.map(({ user }, index) => login(service, user, app, `2001:db8:${index}::1`)))
  expect(answers.map(({ status }) => status)).toEqual(others.map(() => 200))
  await Promise.all(flood)
})

test('a login refused for lack of capacity counts towards no limit and no lockout', async () => {
  const unlimited = { AUTH_RATE_LIMIT_ACCOUNT: '10000/300', AUTH_LOCKOUT_THRESHOLD: '1000' }
  const service = await buildService({ ...narrow, ...unlimited })
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const wrong = { email: user.email, password: 'a wrong password', app_code: app.code }
  const flood = await floodUntilRefused(() => service.call('POST', '/auth/login', { body: wrong }))
  const statuses = (await Promise.all(flood)).map(({ status }) => status)
  const tried = statuses.filter((status) => status === 401).length
  expect(statuses.filter((status) => status === 503)).toHaveLength(flood.length - tried)
  expect(await sumOf(service, 'rate_limits', 'count', 'account:%')).toBe(tried)
  expect(await sumOf(service, 'lockouts', 'failures', '%')).toBe(tried)
  expect(await service.deps.db('audit_events').where({ event: 'login.failed' })).toHaveLength(tried)
})

/**
 * Sends a flood, then one more, and lets them wait for a hash in the order in which they were sent. Returns whether that one was
 * served after the flood.
 */
async function isServedBehind(service: TestService, flood: () => Promise<Reply>, late: () => Promise<Reply>): Promise<boolean> {
  const hasher = await countBcrypts(service)
  let allSent = () => {}
  const whenAllSent = new Promise<void>((resolve) => (allSent = resolve))
  hasher.onVerify = () => whenAllSent
  const order: string[] = []
  const note = async (who: string, reply: Promise<Reply>) => {
    expect((await reply).status).toBe(200)
    order.push(who)
  }
  const flooding = Array.from({ length: standing }, () => note('flood', flood()))
  await expect.poll(() => hasher.verified).toBe(standing)
  const last = note('late', late())
  await expect.poll(() => hasher.verified).toBe(standing + 1)
  allSent()
  await Promise.all([...flooding, last])
  return order.indexOf('late') > standing - atOnce
}

test('a known device waits in a line of its own, and not behind a flood from its address', async () => {
  const service = await buildService(narrow)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, device_token } = await buildUser(service, app)
  const known = { email: user.email, password: PASSWORD, app_code: app.code, device_token }
  const late = () => service.call('POST', '/auth/login', { body: known, headers: from('192.0.2.1') })
  expect(await isServedBehind(service, () => login(service, user, app, '192.0.2.1'), late)).toBe(false)
})

test.each([
  ['of one /48 wait in one line', '2001:db8:1:1::1', '2001:db8:1:2::2', true],
  ['of two /48 wait in two lines', '2001:db8:1::1', '2001:db8:2::1', false],
])('IPv6 addresses %s', async (_, one, other, isOneLine) => {
  const service = await buildService(narrow)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const flood = () => login(service, user, app, one)
  expect(await isServedBehind(service, flood, () => login(service, user, app, other))).toBe(isOneLine)
})
