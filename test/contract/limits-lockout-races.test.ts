// Guesses at once: the answers admit no more failures than the threshold.
import { expect, test } from 'vitest'
import type { ApiError } from '../../packages/server/src/errors.ts'
import { countFailure } from '../../packages/server/src/resources/lockouts/lockouts.ts'
import { atOnce } from '../support/chance.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, someEmail, type TestService } from '../support/service.ts'

const wrong = { password: 'not this password' }

async function build(threshold: number): Promise<{ service: TestService; app: Json; user: Json }> {
  const settings = { AUTH_LOCKOUT_THRESHOLD: String(threshold), AUTH_LOCKOUT_SECONDS: '100', AUTH_RATE_LIMIT_ACCOUNT: 'off' }
  const service = freezeClock(await buildService(settings))
  const app = await buildApp(service, { auto_grant_on_signup: true })
  return { service, app, user: (await buildUser(service, app)).user }
}

const failuresOf = async (service: TestService): Promise<number[]> => service.deps.db('lockouts').orderBy('key').pluck('failures')

test('50 guesses at once are answered 401 up to the threshold, and 423 above it', async () => {
  const { service, app, user } = await build(7)
  const hasher = await countBcrypts(service)
  for (const email of [user.email, someEmail()]) {
    hasher.reset()
    const replies = await atOnce(50, () => service.login(email, app.code, wrong))
    expect(replies.filter(({ body }) => body.code === 'invalid_credentials')).toHaveLength(7)
    expect(replies.filter(({ body }) => body.code === 'account_locked')).toHaveLength(43)
    expect(hasher.verified).toBeLessThanOrEqual(50)
    const locked = await service.login(email, app.code)
    expectError(locked, 'account_locked')
    expect(locked.headers.get('retry-after')).toBe('100')
  }
  expect(await failuresOf(service)).toEqual([7, 7])
  expect(await auditEvents(service, { event: 'user.locked' })).toHaveLength(2)
})

test('failures that reach the database at the same moment count to the threshold, and leave the lock unchanged', async () => {
  const { service } = await build(3)
  const failure = { keys: ['password:planted'], userId: null }
  const told = await atOnce(20, () => countFailure(service.deps, failure).catch((error: ApiError) => error.code))
  expect(told.filter((one) => one === 'account_locked')).toHaveLength(17)
  expect(await failuresOf(service)).toEqual([3])
  expect(await countFailure(service.deps, failure).catch((error: ApiError) => error.code)).toBe('account_locked')
})

test('the right password among the guesses signs in, or is answered only with the lock', async () => {
  const { service, app, user } = await build(5)
  const closed = await buildApp(service)
  for (let round = 0; round < 5; round += 1) {
    await service.deps.db('lockouts').delete()
    // The right password is sent last: by the time it is verified, the wrong ones have locked.
    const replies = await atOnce(40, (index) =>
      service.login(user.email, index === 39 ? closed.code : app.code, index === 39 ? {} : wrong),
    )
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(['app_access_denied', 'account_locked']).toContain(replies[39]!.body.code)
    expect(await failuresOf(service)).toEqual([5])
  }
})

test('50 right passwords at once all pass, since only failures count', async () => {
  const { service, app, user } = await build(3)
  const replies = await atOnce(50, () => service.login(user.email, app.code))
  expect(replies.map(({ status }) => status)).toEqual(Array(50).fill(200))
  expect(await failuresOf(service)).toEqual([])
})

test('right and wrong passwords at once leave a count that matches the answers', async () => {
  const { service, app, user } = await build(1000)
  const closed = await buildApp(service)
  const replies = await atOnce(60, (index) =>
    service.login(user.email, index % 2 ? closed.code : app.code, index % 2 ? {} : wrong),
  )
  expect(replies.filter(({ status }) => status === 401)).toHaveLength(30)
  expect(replies.filter(({ status }) => status === 403)).toHaveLength(30)
  expect(await failuresOf(service)).toEqual([30])
})

test('guesses at once through apps with overlapping pools wait for one another in one order', async () => {
  const { service } = await build(5)
  const pools = ['a', 'b', 'c']
  const apps = await Promise.all(
    pools.map((pool, index) =>
      buildApp(service, { registration_namespace: pool, read_namespaces: [...pools.slice(index), ...pools.slice(0, index)] }),
    ),
  )
  const { user } = await buildUser(service, apps[0]!)
  for (const email of [user.email, someEmail()]) {
    const replies = await atOnce(60, (index) => service.login(email, apps[index % 3]!.code, wrong))
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(replies.filter(({ status }) => status === 423)).toHaveLength(55)
  }
  expect(await failuresOf(service)).toEqual(Array(6).fill(5))
})
