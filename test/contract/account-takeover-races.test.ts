// What the holder of an account can do against the holder of the mailbox of its address, and the other way round, at the worst
// moment: links that wait, requests under way, and a second factor of a stranger.
import { describe, expect, test } from 'vitest'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, buildMailingService, sendNow, until } from '../support/mailbox.ts'
import { countRows, markVerified } from '../support/rows.ts'
import {
  buildApp,
  buildUser,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  type TestService,
  testDatabase,
} from '../support/service.ts'
import { type Authenticator, enableTwoFactor, totpAt } from '../support/totp.ts'

const OWNED = 'the password of the owner'
const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_USER: 'off' }, { frozen: true })
const app = appFixture(service)

const post = (path: string, body: Json, token?: string): Promise<Reply> =>
  service.call('POST', path, { body, ...(token === undefined ? {} : { token }) })
const show = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body

describe('a second factor that a stranger set up', () => {
  /** An account that a stranger registered and gave a second factor, after the owner of the address has reset its password. */
  async function buildReset(): Promise<{ user: Json; phone: Authenticator; link: string }> {
    const { user, access_token: token } = await buildUser(service, app)
    const phone = await enableTwoFactor(service, token)
    await mailbox.take(user.email, /^Confirm/)
    await post('/auth/password/forgot', { email: user.email, app_code: app.code })
    const reset = await mailbox.take(user.email, /^Set a new password/)
    expect((await post('/auth/password/reset', { token: reset.token, password: OWNED })).status).toBe(204)
    await post('/auth/email/resend', { email: user.email, app_code: app.code })
    return { user, phone, link: (await mailbox.take(user.email, /^Confirm/)).token }
  }

  test('the link of a mail and a password set by reset do not make the second factor the owner’s', async () => {
    const { user, link } = await buildReset()
    const verified = await post('/auth/email/verify', { token: link, password: OWNED })
    expect([verified.status, verified.body]).toEqual([401, { requires_2fa: true }])
    expectError(
      await post('/auth/email/verify', { token: link, password: OWNED, two_factor_code: '000000' }),
      'invalid_two_factor_code',
    )
    await post('/auth/magic-link', { email: user.email, app_code: app.code })
    const { token } = await mailbox.take(user.email, /^Sign in to/)
    expect((await post('/auth/magic-link/consume', { token })).status).toBe(200)
    expect((await show(user.id)).two_factor).toBe(false)
  })

  test('a second factor of the user proves the account with the password and the link, which a challenge does not use up', async () => {
    const { user, phone, link } = await buildReset()
    service.advance(30)
    const verified = await post('/auth/email/verify', { token: link, password: OWNED, two_factor_code: phone.code() })
    expect([verified.status, verified.body.user.email_verified]).toEqual([200, true])
    expect((await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: 'super_admin' } })).status).toBe(
      201,
    )
  })
})

test('a stranger with an unproven account who keeps changing its password does not end the links of the mailbox', async () => {
  const { user, access_token: token } = await buildUser(service, app)
  for (const path of ['/auth/magic-link', '/auth/password/forgot']) await post(path, { email: user.email, app_code: app.code })
  const link = await mailbox.take(user.email, /^Sign in to/)
  const reset = await mailbox.take(user.email, /^Set a new password/)
  const passwords = { current_password: PASSWORD, new_password: 'another of the stranger' }
  const changed = await post('/auth/password/change', passwords, token)
  expect(changed.status).toBe(200)
  expect((await post('/auth/password/reset', { token: reset.token, password: OWNED })).status).toBe(204)
  expectError(await post('/auth/magic-link/consume', { token: link.token }), 'invalid_token')
  expectError(await service.call('GET', '/auth/me', { token: changed.body.access_token }), 'token_revoked')
  expectError(await service.login(user.email, app.code, { password: passwords.new_password }), 'invalid_credentials')
  expect((await service.login(user.email, app.code, { password: OWNED })).status).toBe(200)
})

test('a link that undoes the later of two changes is not mailed once the earlier one is undone', async () => {
  const { user, access_token: token, refresh_token: refreshToken } = await buildUser(service, app)
  await mailbox.take(user.email)
  await markVerified(service, user.id)
  const [second, third] = [someEmail(), someEmail()]
  const change = async (email: string, bearer: string) => {
    expect((await post('/auth/email/change', { email, password: PASSWORD }, bearer)).status).toBe(202)
    return (await mailbox.take(email)).token
  }
  const confirm = (link: string) => post('/auth/email/change/confirm', { token: link, password: PASSWORD })
  await confirm(await change(second, token))
  const undoing = await mailbox.take(user.email, /was changed/)
  service.advance(5)
  const link = await change(third, (await post('/auth/refresh', { refresh_token: refreshToken })).body.access_token)
  // The mail server of the thief asks to try again later.
  mailbox.refuse.message = '451 greylisted'
  await confirm(link)
  await until(() => service.deps.db('outbox').where({ name: 'undo_email_change', status: 'pending', attempts: 1 }).first('id'))
  service.advance(5)
  expect((await post('/auth/email/change/undo', { token: undoing.token })).body.user.email).toBe(user.email)
  mailbox.refuse = {}
  service.advance(60)
  sendNow(service)
  await allSent(service)
  expect(mailbox.mailsTo(second).filter(({ subject }) => /was changed/.test(subject))).toEqual([])
  expect(await countRows(service, 'mail_tokens', { user_id: user.id, purpose: 'undo_email_change', spent_at: null })).toBe(0)

  // A change of later times can be undone.
  const reset = await mailbox.take(user.email, /^Set a new password/)
  await post('/auth/password/reset', { token: reset.token, password: PASSWORD })
  const { body } = await service.login(user.email, app.code)
  await confirm(await change(someEmail(), body.access_token))
  expect((await post('/auth/email/change/undo', { token: (await mailbox.take(user.email, /was changed/)).token })).status).toBe(
    200,
  )
})

test('a call that a stranger has begun comes too late once the owner sets a new password', async () => {
  const { service, mailbox } = await buildMailingService({ AUTH_RATE_LIMIT_USER: 'off' })
  const hasher = await countBcrypts(service)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const attacks: [what: string, attack: (token: string, secret: string) => Promise<Reply>][] = [
    ['deletes', (token) => service.call('DELETE', '/auth/me', { token, body: { password: PASSWORD } })],
    ['moves', (token) => service.call('POST', '/auth/email/change', { token, body: { email: someEmail(), password: PASSWORD } })],
    ['sets up', (token) => service.call('POST', '/auth/2fa/setup', { token, body: { password: PASSWORD } })],
    [
      'activates',
      (token, secret) =>
        service.call('POST', '/auth/2fa/activate', {
          token,
          body: { password: PASSWORD, code: totpAt(secret, service.deps.clock()) },
        }),
    ],
  ]
  for (const [what, attack] of attacks) {
    const { user, access_token: token } = await buildUser(service, app)
    const secret = (await service.call('POST', '/auth/2fa/setup', { token })).body.secret
    await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: app.code } })
    const reset = await mailbox.take(user.email, /^Set a new password/)
    hasher.onVerify = async () => {
      hasher.onVerify = () => {}
      const body = { token: reset.token, password: OWNED }
      expect((await service.call('POST', '/auth/password/reset', { body })).status).toBe(204)
    }
    const seed = await service.deps.db('second_factors').where({ user_id: user.id }).first('totp_box')
    expectError(await attack(token, secret), 'token_revoked')
    const entered = await service.login(user.email, app.code, { password: OWNED })
    expect([what, entered.status]).toEqual([what, 200])
    expect(await service.deps.db('second_factors').where({ user_id: user.id }).first('totp_box')).toEqual(seed)
  }
})

test('a call under way while its account is deleted is refused as one of a dead session or by a dead link', async () => {
  const { service, mailbox } = await buildMailingService({ AUTH_RATE_LIMIT_USER: 'off', AUTH_RATE_LIMIT_IP: 'off' })
  const hasher = await countBcrypts(service)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const post = (path: string, body: Json, token?: string) =>
    service.call('POST', path, { body, ...(token === undefined ? {} : { token }) })
  const remove = ({ id }: Json) => service.admin('DELETE', `/admin/users/${id}`)
  const expectDeleted = async ({ id }: Json) =>
    expect((await service.admin('GET', `/admin/users/${id}`)).body.status).toBe('deleted')

  const { user, access_token: token } = await buildUser(service, app)
  hasher.onVerify = async () => {
    hasher.onVerify = () => {}
    expect((await remove(user)).status).toBe(204)
  }
  expectError(await post('/auth/password/change', { current_password: PASSWORD, new_password: OWNED }, token), 'token_revoked')
  await expectDeleted(user)

  for (let round = 0; round < 3; round += 1) {
    const { user } = await buildUser(service, app)
    const logIn = async () => (await service.login(user.email, app.code)).body.access_token
    const tokens = [await logIn(), await logIn(), await logIn()]
    const [removed, ...replies] = await Promise.all([
      remove(user),
      ...tokens.map((token) => service.call('POST', '/auth/logout-all', { token })),
    ])
    expect(removed.status).toBe(204)
    for (const reply of replies) if (reply.status !== 204) expectError(reply, 'token_revoked')
    await expectDeleted(user)
  }

  for (let round = 0; round < 3; round += 1) {
    const { user, access_token: token } = await buildUser(service, app)
    await mailbox.take(user.email)
    await markVerified(service, user.id)
    const [email, later] = [someEmail(), someEmail()]
    await post('/auth/email/change', { email, password: PASSWORD }, token)
    await post('/auth/email/change/confirm', { token: (await mailbox.take(email)).token, password: PASSWORD })
    const undoing = await mailbox.take(user.email, /was changed/)
    const { body } = await service.login(email, app.code)
    await post('/auth/email/change', { email: later, password: PASSWORD }, body.access_token)
    const { token: link } = await mailbox.take(later)
    const confirm = () => post('/auth/email/change/confirm', { token: link }, body.access_token)
    const undo = () => post('/auth/email/change/undo', { token: undoing.token })
    const [removed, ...replies] = await Promise.all([remove(user), undo(), confirm(), undo()])
    expect(removed.status).toBe(204)
    for (const reply of replies)
      if (reply.status !== 200) expect(['invalid_token', 'validation_failed']).toContain(reply.body.code)
    await expectDeleted(user)
  }
})

// The transaction of the test holds one connection, and the call needs another.
test.runIf(testDatabase() === 'postgres' && process.env.TEST_POOL_MAX !== '1')(
  'an undo does not delete an account with the old address that is being proven at that moment',
  async () => {
    const { user, access_token: token } = await buildUser(service, app)
    await mailbox.take(user.email)
    await markVerified(service, user.id)
    const email = someEmail()
    await post('/auth/email/change', { email, password: PASSWORD }, token)
    await post('/auth/email/change/confirm', { token: (await mailbox.take(email)).token, password: PASSWORD })
    const undoing = await mailbox.take(user.email, /was changed/)
    const { user: other } = (await service.register(user.email, app.code)).body
    const undone = await transaction(service.deps, async ({ db }) => {
      await db('users').where({ id: other.id }).update({ mailbox_proven_at: service.deps.clock() })
      const undone = post('/auth/email/change/undo', { token: undoing.token })
      await until(async () => (await waiting(service)) > 0, 'a call that waits for the row')
      return { reply: undone }
    })
    expectError(await undone.reply, 'email_exists_in_pool')
    expect((await show(other.id)).status).toBe('active')
  },
)

async function waiting(service: TestService): Promise<number> {
  const { rows } = await service.deps.db.raw("select count(*) as n from pg_stat_activity where wait_event_type = 'Lock'")
  return Number(rows[0].n)
}
