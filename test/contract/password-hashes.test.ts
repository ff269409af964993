// How passwords are stored, what other systems' hashes are worth, and the upgrade of a hash at login.
import { createHmac } from 'node:crypto'
import { createRequire } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildApp, buildService, buildUser, callHttp, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { enableTwoFactor, loginWithCode } from '../support/totp.ts'

const bcrypt = createRequire(new URL('../../packages/server/package.json', import.meta.url))('bcryptjs') as {
  compareSync(password: string, hash: string): boolean
  hashSync(password: string, cost: number): string
}

const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '1000' })
const app = appFixture(service)

async function hashOf(userId: string): Promise<string> {
  return (await service.deps.db('users').where({ id: userId }).first('password_hash')).password_hash
}

/** A user with a hash that another system made. */
async function buildImported(hash: string): Promise<Json> {
  const { user } = await buildUser(service, app)
  await service.deps.db('users').where({ id: user.id }).update({ password_hash: hash })
  return user
}

const login = (user: Json, password: string, extra: object = {}) => service.login(user.email, app.code, { password, ...extra })

describe('long passwords', () => {
  // covers user-password-hash
  test.each([
    ['72 bytes', 'a'.repeat(72)],
    ['72 bytes of two-byte characters', 'é'.repeat(36)],
  ])('a password of %s is stored as plain bcrypt', async (_, password) => {
    const { user } = await buildUser(service, app, { password })
    expect(bcrypt.compareSync(password, await hashOf(user.id))).toBe(true)
    expect((await login(user, password)).status).toBe(200)
    expectError(await login(user, `${password}b`), 'invalid_credentials')
  })

  test.each([
    ['73 bytes', 'a'.repeat(73)],
    ['74 bytes in 37 characters', 'é'.repeat(37)],
    ['1,024 bytes', 'b'.repeat(1_024)],
    ['1,024 bytes in 256 characters', '😀'.repeat(256)],
  ])('a password of %s is stored as bcrypt of its HMAC, and every byte counts', async (_, password) => {
    const { user } = await buildUser(service, app, { password })
    const digest = createHmac('sha384', 'gatehouse-long-password').update(password).digest('base64')
    const hash = await hashOf(user.id)
    expect(bcrypt.compareSync(digest, hash)).toBe(true)
    expect(bcrypt.compareSync(password, hash)).toBe(false)
    expect((await login(user, password)).status).toBe(200)
    const characters = [...password]
    for (const other of [
      [...characters.slice(0, -1), 'x'],
      [...characters.slice(0, -2), 'x', characters.at(-1)],
      characters.slice(0, -1),
    ]) {
      expectError(await login(user, other.join('')), 'invalid_credentials')
    }
  })

  test.each([['a'.repeat(1_025)], ['é'.repeat(513)], [`${'😀'.repeat(256)}a`]])(
    'a password of more than 1,024 bytes is refused at registration and login, and not echoed',
    async (password) => {
      const { user } = await buildUser(service, app)
      for (const reply of [
        await service.register('long@example.com', app.code, { password }),
        await login(user, password),
        await service.register(user.email, app.code, { password, mode: 'register_or_login' }),
      ]) {
        expectError(reply, 'validation_failed')
        expect(faultsOf(reply)).toEqual(['password: too_long'])
        expect(JSON.stringify(reply.body)).not.toContain(password.slice(0, 50))
      }
    },
  )

  test('two passwords with the same first 72 bytes differ', async () => {
    const shared = 'p'.repeat(72)
    const { user } = await buildUser(service, app, { password: `${shared}one` })
    for (const password of [shared, `${shared}two`, `${shared}on`, `${shared}one `]) {
      expectError(await login(user, password), 'invalid_credentials')
    }
    expect((await login(user, `${shared}one`)).status).toBe(200)
  })
})

test('a password counts exactly as sent: case, white space, composed and decomposed letters', async () => {
  const password = ' Pässword\tone '
  const { user } = await buildUser(service, app, { password })
  expect((await login(user, password)).status).toBe(200)
  for (const other of [password.trim(), password.toLowerCase(), password.normalize('NFD'), password.replace('\t', ' ')]) {
    expectError(await login(user, other), 'invalid_credentials')
  }
})

describe('hashes of other systems', () => {
  // From the documentation and the tests of PHP, crypt_blowfish and jBCrypt; the one with an umlaut was made with libxcrypt.
  test.each([
    ['$2y$07$BCryptRequires22Chrcte/VlQH0piJtjXl.0t1XkA8pw9dMXTpOq', 'rasmuslerdorf'],
    ['$2a$07$usesomesillystringfore2uDLvp1Ii2e./U9C8sBjqp8I90dH6hi', 'rasmuslerdorf'],
    ['$2y$05$abcdefghijklmnopqrstu.cm.tcEnR6BF.d0XTTcTOh5Nqzl5wsaq', 'UpperÄ'],
    ['$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW', 'U*U'],
    ['$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a', 'U*U*U'],
    ['$2a$06$If6bvum7DFjUnE9p2uDeDu0YHzrHM6tf.iqN8.yx.jNN1ILEf7h0i', 'abc'],
    ['$2a$06$fPIsBO8qRqkjj273rfaOI.HtSV9jLDpTbZn782DC6/t7qT67P6FfO', '~!@#$%^&*()      ~!@#$%^&*()PNBFRD'],
  ])('%s matches its password, even a short one, and is replaced', async (hash, password) => {
    const user = await buildImported(hash)
    expectError(await login(user, `${password}x`), 'invalid_credentials')
    expect(await hashOf(user.id)).toBe(hash)
    expect((await login(user, password)).status).toBe(200)
    const upgraded = await hashOf(user.id)
    expect(upgraded).toMatch(/^\$2b\$04\$/)
    expect(bcrypt.compareSync(password, upgraded)).toBe(true)
    expect((await login(user, password)).status).toBe(200)
    expectError(await login(user, `${password}x`), 'invalid_credentials')
    expect(await hashOf(user.id)).toBe(upgraded)
  })

  test.each([
    ['of cost 31', `$2b$31$${'a'.repeat(53)}`],
    ['of cost 16', `$2b$16$${'a'.repeat(53)}`],
    ['of cost 3', `$2b$03$${'a'.repeat(53)}`],
    ['of another form', `$2x$04$${'a'.repeat(53)}`],
    ['cut short', `$2b$04$${'a'.repeat(52)}`],
    ['of another kind', '$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b27dWoFKDk'],
    ['in plain text', PASSWORD],
    ['empty', ''],
  ])('a hash %s is never verified, and its user gets the answer for an unknown user after one bcrypt', async (_, hash) => {
    const user = await buildImported(hash)
    const hasher = await countBcrypts(service)
    const before = process.cpuUsage()
    expectError(await login(user, PASSWORD), 'invalid_credentials')
    // Hashing with cost 16 would take four seconds.
    expect(process.cpuUsage(before).user).toBeLessThan(3_500_000)
    expect([hasher.verified, hasher.hashed]).toEqual([1, 0])
    expect(await hashOf(user.id)).toBe(hash)
  })
})

describe('the work for a wrong password', () => {
  const cost = 7
  const dear = serviceFixture({ AUTH_BCRYPT_COST: String(cost), AUTH_HASH_THREADS: '1' })
  const dearApp = appFixture(dear)

  /** What one attempt adds to the metrics: hashing jobs and bcrypt rounds. */
  async function workOf(act: () => Promise<unknown>): Promise<[number, number]> {
    const read = async () => {
      dear.advance(1)
      const text: string = (await callHttp(`${dear.url}/metrics`, 'GET')).body
      const figure = (name: string) => Number(new RegExp(`^gatehouse_password_hash_${name} (\\d+)$`, 'm').exec(text)![1])
      return [figure('wait_seconds_count'), figure('rounds_total')] as const
    }
    const before = await read()
    await act()
    const after = await read()
    return [after[0] - before[0], after[1] - before[1]]
  }

  test.each([4, 5, 6, 7])(
    'a wrong password costs the same for an unknown user and for a hash of cost %i, in one job',
    async (imported) => {
      const { user } = await buildUser(dear, dearApp)
      const hash = bcrypt.hashSync(PASSWORD, imported)
      await dear.deps.db('users').where({ id: user.id }).update({ password_hash: hash })
      const wrong = { password: 'not this password' }
      for (const email of [user.email, someEmail()])
        expect(
          await workOf(async () => expectError(await dear.login(email, dearApp.code, wrong), 'invalid_credentials')),
        ).toEqual([1, 2 ** cost])
      expect((await dear.login(user.email, dearApp.code)).status).toBe(200)
    },
  )
})

describe('the upgrade of a hash at login', () => {
  test('the upgrade waits for a complete login', async () => {
    const hash = bcrypt.hashSync(PASSWORD, 5)
    const user = await buildImported(hash)
    const closed = await buildApp(service)
    expectError(await service.login(user.email, closed.code), 'app_access_denied')
    expectError(await login(user, 'not this password'), 'invalid_credentials')
    expect(await hashOf(user.id)).toBe(hash)
    expect((await login(user, PASSWORD)).status).toBe(200)
    expect(await hashOf(user.id)).toMatch(/^\$2b\$04\$/)
  })

  test('the upgrade waits for the second factor', async () => {
    const hash = bcrypt.hashSync(PASSWORD, 5)
    const { user, access_token: token } = await buildUser(service, app)
    const phone = await enableTwoFactor(service, token)
    await service.deps.db('users').where({ id: user.id }).update({ password_hash: hash })
    expect((await loginWithCode(service, user, app)).body).toEqual({ requires_2fa: true })
    expectError(await loginWithCode(service, user, app, phone.wrongCode()), 'invalid_two_factor_code')
    expect(await hashOf(user.id)).toBe(hash)
    expect((await loginWithCode(service, user, app, phone.code())).status).toBe(200)
    expect(await hashOf(user.id)).toMatch(/^\$2b\$04\$/)
  })

  test('the upgrade works to higher and lower costs, keeps the password, and ends no session', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    for (const cost of [6, 4]) {
      const other = await buildService({ AUTH_BCRYPT_COST: String(cost), AUTH_RATE_LIMIT_ACCOUNT: 'off' })
      const { passwords } = service.deps
      service.deps.passwords = other.deps.passwords
      expect((await login(user, PASSWORD)).status).toBe(200)
      expect(await hashOf(user.id)).toMatch(new RegExp(`^\\$2b\\$0${cost}\\$`))
      service.deps.passwords = passwords
      expect((await login(user, 'not this password')).status).toBe(401)
    }
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })

  test('many concurrent logins of one user leave one matching hash', async () => {
    const user = await buildImported(bcrypt.hashSync(PASSWORD, 5))
    const replies = await Promise.all(Array.from({ length: 20 }, () => login(user, PASSWORD)))
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(bcrypt.compareSync(PASSWORD, await hashOf(user.id))).toBe(true)
    expect((await login(user, PASSWORD)).status).toBe(200)
  })

  test('the upgrade never overwrites a password that was changed meanwhile', async () => {
    const user = await buildImported(bcrypt.hashSync(PASSWORD, 5))
    const changed = bcrypt.hashSync('another password', 4)
    const hasher = await countBcrypts(service)
    const hash = hasher.hash.bind(hasher)
    hasher.hash = async (...args) => {
      await service.deps.db('users').where({ id: user.id }).update({ password_hash: changed })
      return hash(...args)
    }
    await login(user, PASSWORD)
    expect(await hashOf(user.id)).toBe(changed)
  })
})

test('without WebAssembly, each thread hashes one password at a time, and the reason is logged once', async () => {
  const { PasswordHasher }: typeof import('../support/server-parts.ts') = await import(
    /* @vite-ignore */ inject('programs').serverParts
  )
  // From here on, no WebAssembly module can have memory.
  setFlagsFromString('--wasm-max-mem-pages=0')
  onTestFinished(() => setFlagsFromString('--wasm-max-mem-pages=65536'))
  const fellBack = vi.fn()
  const hasher = new PasswordHasher({ cost: 4, threads: 2, observer: { worked() {}, refused() {}, fellBack } })
  onTestFinished(() => hasher.close())
  hasher.warmUp()
  const line = { key: 'anybody', turns: 1 }
  const hash = await hasher.hash(PASSWORD, line)
  expect(bcrypt.compareSync(PASSWORD, hash)).toBe(true)
  expect(await hasher.verify(PASSWORD, hash, line)).toBe(true)
  expect(await hasher.verify('not this password', hash, line)).toBe(false)
  await vi.waitFor(() => expect(fellBack.mock.calls).toEqual([[expect.stringContaining('WebAssembly')]]))
  const waiting = Array.from({ length: 7 }, () => hasher.hash(PASSWORD, line))
  expect(hasher.queueLength).toBe(5)
  await Promise.all(waiting)
})
