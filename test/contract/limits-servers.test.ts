import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, type Json, PASSWORD, type Reply, someEmail, testDatabase } from '../support/service.ts'
import { totpAt } from '../support/totp.ts'

const bootstrap = { DB_POOL_MAX: '5', ...bootstrapAdmin }

interface Pair {
  call(index: number, method: string, path: string, body?: object, token?: string): Promise<Reply>
  login(index: number, email: string, extra?: object): Promise<Reply>
  buildUser(): Promise<Json>
}

/** Two servers with these settings, and an app on them. Call it while tests are collected. */
function pair(settings: Record<string, string>): () => Pair {
  let servers: [ServerInstance, ServerInstance]
  let app: Json
  beforeAll(async () => {
    const database = await createDatabase('postgres', inject('templates'))
    afterAll(() => database.drop())
    const start = () => startInstance({ ...bootstrap, ...settings, DATABASE_URL: database.url }, onFileEnd)
    servers = await Promise.all([start(), start()])
    const token = (await servers[0].login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { code: 'shop', name: 'Shop', auto_grant_on_signup: true }
    app = (await servers[0].call('POST', '/admin/apps', { body, token })).body
  })
  const call: Pair['call'] = (index, method, path, body, token) => servers[index % 2]!.call(method, path, { body, token })
  return () => ({
    call,
    login: (index, email, extra = {}) =>
      call(index, 'POST', '/auth/login', { email, password: PASSWORD, app_code: app.code, ...extra }),
    buildUser: async () =>
      (await call(0, 'POST', '/auth/register', { email: someEmail(), password: PASSWORD, app_code: app.code })).body,
  })
}

function tally(replies: readonly Reply[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe.runIf(testDatabase() === 'postgres')('two servers on one database', () => {
  describe('failures on both servers', () => {
    const servers = pair({ AUTH_RATE_LIMIT_ACCOUNT: 'off' })

    test('50 guesses at once, half of them on each server, are answered 401 ten times and 423 after that', async () => {
      const { login, buildUser } = servers()
      for (const email of [(await buildUser()).user.email, someEmail(), someEmail()]) {
        const replies = await atOnce(50, (index) => login(index, email, { password: 'not this password' }))
        expect(tally(replies)).toEqual({ 401: 10, 423: 40 })
        for (const index of [0, 1]) expect((await login(index, email)).body.code).toBe('account_locked')
      }
    })

    test('a complete login on one server clears what the other counted', async () => {
      const { login, buildUser } = servers()
      const { user } = await buildUser()
      for (let round = 0; round < 3; round += 1) {
        for (let i = 0; i < 9; i += 1) await login(i, user.email, { password: 'not this password' })
        expect((await login(round, user.email)).status).toBe(200)
      }
    })
  })

  describe('the limits of accounts and addresses on both servers', () => {
    const servers = pair({ AUTH_RATE_LIMIT_ACCOUNT: '5/600', AUTH_LOCKOUT_THRESHOLD: '1000', AUTH_RATE_LIMIT_IP: '60/600' })

    test('the limits hold for 50 guesses at once for one account, then for 50 accounts from one address', async () => {
      const { login } = servers()
      const email = someEmail()
      const guesses = await atOnce(50, (index) => login(index, email, { password: 'not this password' }))
      expect(tally(guesses)).toEqual({ 401: 5, 429: 45 })
      for (const index of [0, 1]) expect((await login(index, email)).status).toBe(429)
      // Of 60, one login created the app and 52 are counted above, so seven are left, for any account.
      const others = await atOnce(50, (index) => login(index, someEmail()))
      expect(tally(others)).toEqual({ 401: 7, 429: 43 })
    })
  })

  describe('second factors on both servers', () => {
    const servers = pair({ AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '1000' })

    test('one of 50 logins with one code at once, half of them on each server, passes', async () => {
      const { login, call, buildUser } = servers()
      for (let round = 0; round < 3; round += 1) {
        const { user, access_token: token } = await buildUser()
        const { secret } = (await call(0, 'POST', '/auth/2fa/setup', undefined, token)).body
        const activated = await call(1, 'POST', '/auth/2fa/activate', { code: totpAt(secret, Date.now()) }, token)
        expect(activated.status).toBe(200)
        for (const two_factor_code of [totpAt(secret, Date.now() + 30_000), activated.body.recovery_codes[round]]) {
          const replies = await atOnce(50, (index) => login(index, user.email, { two_factor_code }))
          expect(tally(replies)).toEqual({ 200: 1, 401: 49 })
        }
      }
    })
  })
})
