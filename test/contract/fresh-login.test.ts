// Adding or removing a way to sign in requires a proof of identity from the last ten minutes, so a
// token is not enough to lock the user out.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type Reply, type TestService } from '../support/service.ts'
import { enableTwoFactor, loginWithCode, totpAt } from '../support/totp.ts'

const service = serviceFixture({ AUTH_RATE_LIMIT_ACCOUNT: 'off' }, { frozen: true })
const app = appFixture(service)
const aged = 10 * 60

const setUp = (token: string, body?: Json) => service.call('POST', '/auth/2fa/setup', { token, body })
const activate = (token: string, body: Json) => service.call('POST', '/auth/2fa/activate', { token, body })
const disable = (token: string, body?: Json) => service.call('POST', '/auth/2fa/disable', { token, body })
const codeOf = (secret: string) => totpAt(secret, service.deps.clock())

/** A user whose login is ten minutes old. */
async function buildAged(): Promise<{ user: Json; token: string; refreshToken: string }> {
  const { user, access_token: token, refresh_token: refreshToken } = await buildUser(service, app)
  service.advance(aged)
  return { user, token, refreshToken }
}

describe('changes of a second factor', () => {
  test('a second factor is set up by a login of the last ten minutes, and not by an older one', async () => {
    const { access_token: fresh } = await buildUser(service, app)
    service.advance(aged - 1)
    expect((await setUp(fresh)).status).toBe(200)
    service.advance(1)
    expectError(await setUp(fresh), 'fresh_login_required')
  })

  test('a refresh does not count as a fresh login', async () => {
    const { refreshToken } = await buildAged()
    const { body } = await service.call('POST', '/auth/refresh', { body: { refresh_token: refreshToken } })
    expectError(await setUp(body.access_token), 'fresh_login_required')
  })

  test('the password counts as a fresh login for ten minutes, in that session only', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const other = (await service.login(user.email, app.code)).body.access_token
    service.advance(aged)
    expectError(await setUp(token, { password: 'not the password' }), 'invalid_credentials')
    expectError(await setUp(token), 'fresh_login_required')
    const { body } = await setUp(token, { password: PASSWORD })
    expectError(await activate(other, { code: codeOf(body.secret) }), 'fresh_login_required')
    service.advance(200)
    expect((await activate(token, { code: codeOf(body.secret) })).status).toBe(200)
  })

  test('an old login does not activate the second factor unless the password comes with the code', async () => {
    const { access_token: token } = await buildUser(service, app)
    const { secret } = (await setUp(token)).body
    service.advance(aged)
    expectError(await activate(token, { code: codeOf(secret) }), 'fresh_login_required')
    expect((await activate(token, { code: codeOf(secret), password: PASSWORD })).status).toBe(200)
  })

  test('a login from before the second factor does not remove it; password and code, or a login with both, do', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const other = (await service.login(user.email, app.code)).body.access_token
    const phone = await enableTwoFactor(service, token)
    for (const held of [token, other]) {
      expectError(await disable(held), 'fresh_login_required')
      expectError(await disable(held, { password: PASSWORD }), 'fresh_login_required')
      expectError(await disable(held, { code: phone.code() }), 'fresh_login_required')
    }
    const complete = (await loginWithCode(service, user, app, phone.code())).body.access_token
    expectError(await disable(complete, { password: 'not the password', code: phone.code(1) }), 'invalid_credentials')
    expectError(await disable(complete, { code: phone.wrongCode() }), 'invalid_two_factor_code')
    expect((await disable(complete)).status).toBe(204)
  })

  test.for(['code', 'two_factor_code'])(
    'the password and a %s remove the second factor, however old the login is',
    async (name) => {
      const { access_token: token } = await buildUser(service, app)
      const phone = await enableTwoFactor(service, token)
      service.advance(aged)
      expect((await disable(token, { password: PASSWORD, [name]: phone.code() })).status).toBe(204)
    },
  )

  test('the refusal costs no hash and counts no failure', async () => {
    const { user, token } = await buildAged()
    const asked: number[] = []
    const { verify } = service.deps.passwords
    service.deps.passwords.verify = (...given) => {
      asked.push(1)
      return verify.apply(service.deps.passwords, given)
    }
    try {
      for (let i = 0; i < 20; i += 1) expectError(await setUp(token), 'fresh_login_required')
    } finally {
      service.deps.passwords.verify = verify
    }
    expect(asked).toHaveLength(0)
    expect(await auditEvents(service, { user_id: user.id, event: 'reauthentication.failed' })).toEqual([])
  })

  test('a proof of the wrong type is named', async () => {
    const { token } = await buildAged()
    expect(faultsOf(await setUp(token, { password: 12345678 }))).toEqual(['password: invalid_type'])
  })
})

const linkOf = (provider: string) => ({
  provider,
  redirect_url: 'https://app.example.com/signed-in',
  code_challenge: 'c'.repeat(43),
  state: 'of the client',
})

/** The calls that ask for a proof, and what each needs first. */
const doors: Record<
  string,
  {
    prepare?: (on: TestService, token: string) => Promise<unknown>
    call(on: TestService, token: string, proof: Json): Promise<Reply>
  }
> = {
  'POST /auth/2fa/setup': {
    call: (on, token, body) => on.call('POST', '/auth/2fa/setup', { token, body }),
  },
  'POST /auth/2fa/activate': {
    prepare: async (on, token) => (await on.call('POST', '/auth/2fa/setup', { token })).body,
    call: (on, token, proof) => on.call('POST', '/auth/2fa/activate', { token, body: { code: '000000', ...proof } }),
  },
  'POST /auth/2fa/disable': {
    prepare: enableTwoFactor,
    call: (on, token, body) => on.call('POST', '/auth/2fa/disable', { token, body }),
  },
  'POST /auth/identities/link': {
    prepare: enableTwoFactor,
    call: (on, token, proof) => on.call('POST', '/auth/identities/link', { token, body: { ...linkOf('acme'), ...proof } }),
  },
  'DELETE /auth/identities/{identityId}': {
    prepare: enableTwoFactor,
    call: (on, token, body) => on.call('DELETE', `/auth/identities/${randomUUID()}`, { token, body }),
  },
}

describe.each(Object.entries(doors))('%s', (_, { prepare, call }) => {
  test('wrong passwords count as at a login, and the call is limited by AUTH_RATE_LIMIT_USER', async () => {
    const limits = { AUTH_RATE_LIMIT_USER: '8/60', AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '2' }
    const on = freezeClock(await buildService(limits))
    const { access_token: token } = await buildUser(on, await buildApp(on, { auto_grant_on_signup: true }))
    await prepare?.(on, token)
    const wrong = { password: 'not the password', two_factor_code: '000000' }
    const codes: string[] = []
    for (let i = 0; i < 9; i += 1) codes.push((await call(on, token, wrong)).body.code)
    expect(codes.slice(0, 3)).toEqual(['invalid_credentials', 'invalid_credentials', 'account_locked'])
    expect(codes.at(-1)).toBe('rate_limited')
  })

  test('strangers who lock the password do not block the call, and its guesses lock only the session that sent them', async () => {
    const on = freezeClock(await buildService({ AUTH_RATE_LIMIT_ACCOUNT: '4/300', AUTH_LOCKOUT_THRESHOLD: '2' }))
    const open = await buildApp(on, { auto_grant_on_signup: true })
    const { user, access_token: guessing } = await buildUser(on, open)
    const { access_token: own } = (await on.login(user.email, open.code)).body
    const phone = (await prepare?.(on, guessing)) as Json
    for (let i = 0; i < 4; i += 1) await on.login(user.email, open.code, { password: 'a guess' })
    expectError(await on.login(user.email, open.code), 'rate_limited')
    const prove = (token: string, password: string) =>
      call(on, token, { password, two_factor_code: phone?.wrongCode?.() ?? '000000' })
    for (let i = 0; i < 2; i += 1) expectError(await prove(guessing, 'a guess'), 'invalid_credentials')
    expectError(await prove(guessing, PASSWORD), 'account_locked')
    const { body } = await prove(own, PASSWORD)
    expect(['account_locked', 'rate_limited', 'invalid_credentials']).not.toContain(body.code)
  })
})

test('unlinking asks for a code too if a second factor is active', async () => {
  const { access_token: token } = await buildUser(service, app)
  const phone = await enableTwoFactor(service, token)
  const unlink = doors['DELETE /auth/identities/{identityId}']!.call
  expectError(await unlink(service, token, { password: PASSWORD }), 'fresh_login_required')
  expectError(await unlink(service, token, { password: PASSWORD, two_factor_code: phone.wrongCode() }), 'invalid_two_factor_code')
  expectError(await unlink(service, token, { password: PASSWORD, two_factor_code: phone.code() }), 'not_found')
})

describe('AUTH_RATE_LIMIT_USER', () => {
  const change = (on: TestService, token: string): Promise<Reply> =>
    on.call('POST', '/auth/password/change', { token, body: { current_password: 'wrong', new_password: 'another password' } })

  test('AUTH_RATE_LIMIT_USER lets COUNT hashing calls pass in SECONDS, over all routes and sessions of a user', async () => {
    const on = freezeClock(await buildService({ AUTH_RATE_LIMIT_USER: '3/60', AUTH_RATE_LIMIT_ACCOUNT: 'off' }))
    const through = await buildApp(on, { auto_grant_on_signup: true })
    const { user, access_token: token } = await buildUser(on, through)
    const { access_token: again } = (await on.login(user.email, through.code)).body
    const { access_token: other } = await buildUser(on, through)
    const replies = await Promise.all([
      ...Array.from({ length: 5 }, () => change(on, token)),
      ...Array.from({ length: 5 }, () => on.call('POST', '/auth/2fa/setup', { token: again, body: { password: 'wrong' } })),
    ])
    const passed = replies.filter(({ body }) => body.code === 'invalid_credentials')
    expect(passed).toHaveLength(3)
    for (const reply of replies) if (!passed.includes(reply)) expectError(reply, 'rate_limited')
    expectError(await change(on, other), 'invalid_credentials')
    on.advance(60)
    expectError(await change(on, token), 'invalid_credentials')
  })
})
