// Login by a code of six digits from a mail, through the API.
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail, sendNow, until } from '../support/mailbox.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { askFor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'
import { traceStatements } from '../support/trace-statements.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_IP: 'off', AUTH_TRUST_PROXY: '1' }, { frozen: true })
const allowed_redirect_urls = ['https://shop.example/callback']
const app = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls })

const consume = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  service.call('POST', '/auth/email-code/consume', { body, headers })
const codeIn = ({ text }: Mail) => /: (\d{6})$/m.exec(text)?.[1] ?? ''
const wrong = (code: string, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, '0')

/** A user who has proven the mailbox, by default. */
async function build({ verified = true } = {}): Promise<Json> {
  const registered = await buildUser(service, app)
  const { token } = await mailbox.take(registered.user.email)
  if (verified) await service.call('POST', '/auth/email/verify', { body: { token, password: PASSWORD } })
  return registered
}

async function ask(email: string, more: Record<string, unknown> = {}): Promise<string> {
  const reply = await service.call('POST', '/auth/email-code', { body: { email, app_code: app.code, ...more } })
  expect([reply.status, Object.keys(reply.body)]).toEqual([202, ['request_id']])
  return reply.body.request_id
}

async function mailed(email: string): Promise<{ request_id: string; code: string; mail: Mail }> {
  const request_id = await ask(email)
  const mail = await mailbox.take(email, /^Sign in to/)
  return { request_id, code: codeIn(mail), mail }
}

test('the answer is that of a login, the session records the code, and the code works once', async () => {
  const { user } = await build()
  const { request_id, code } = await mailed(user.email)
  const { status, body, headers } = await consume({ request_id, code: `${code.slice(0, 3)} ${code.slice(3)}` })
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(Object.keys(body)).toEqual(Object.keys((await service.login(user.email, app.code)).body))
  expect(body).toMatchObject({ user: { id: user.id, email_verified: true }, app: { code: app.code } })
  expect(claimsOf(body.access_token)).toMatchObject({ amr: [] })
  const sessions = service.deps.db('sessions').where({ id: claimsOf(body.access_token).sid })
  expect(await sessions.first('auth_method')).toEqual({ auth_method: 'email_code' })
  expect(await auditEvents(service, { user_id: user.id, event: 'login.success' })).toContainEqual(
    expect.objectContaining({ details: { auth_method: 'email_code' } }),
  )
  expectError(await consume({ request_id, code }), 'invalid_token')
})

test('a mail that the mail server accepts at the second attempt has the same code, and the code works', async () => {
  const { user } = await build()
  await allSent(service)
  mailbox.refuse.message = '451 greylisted'
  const request_id = await ask(user.email)
  await until(async () => (await countRows(service, 'outbox', { user_id: user.id, name: 'magic_link', attempts: 1 })) === 1)
  mailbox.refuse = {}
  service.advance(3)
  sendNow(service)
  const code = codeIn(await mailbox.take(user.email, /^Sign in to/))
  expect((await consume({ request_id, code })).status).toBe(200)
})

test('a code lives for ten minutes, and the link in the same mail for fifteen', async () => {
  const { user } = await build()
  const { request_id, code, mail } = await mailed(user.email)
  service.advance(10 * 60)
  expectError(await consume({ request_id, code }), 'invalid_token')
  service.advance(5 * 60 - 1)
  expect((await service.call('POST', '/auth/magic-link/consume', { body: { token: mail.token } })).status).toBe(200)
})

test('the code and the link of one mail sign in once together', async () => {
  const { user } = await build()
  const { request_id, code, mail } = await mailed(user.email)
  const uses = await atOnce(20, (index) =>
    index % 2 === 0
      ? consume({ request_id, code })
      : service.call('POST', '/auth/magic-link/consume', { body: { token: mail.token } }),
  )
  expect(uses.filter(({ status }) => status === 200)).toHaveLength(1)
})

test('a code works only with the request it was mailed for, not with that of a stranger or of the sign-in page', async () => {
  const { user } = await build()
  const strangers = await ask(user.email)
  await mailbox.take(user.email, /^Sign in to/)
  const { request_id, code } = await mailed(user.email)
  expectError(await consume({ request_id: strangers, code }), 'invalid_mail_code')
  const visitor = visit(service)
  const form = await visitor.send(await visitor.get(askFor(app).path), 'E-mail me a code')
  const page = await visitor.send(form, 'Send the code', { email: user.email })
  const ofPage = codeIn(await mailbox.take(user.email, /^Sign in to/))
  const { request = '', resume = '' } = page.forms.find(({ buttons }) => buttons.has('Sign in'))!.values
  for (const field of [request, resume, `${request_id}x`, 'made-up'])
    expectError(await consume({ request_id: field, code: ofPage }), 'invalid_token')
  expectError(await consume({ request_id, code: ofPage }), 'invalid_mail_code')
  expectError(await consume({ request_id, code }), 'invalid_token')
})

test('the fourth request in fifteen minutes sends no mail and returns the request it names, whose code stays valid', async () => {
  const { user } = await build()
  await mailed(user.email)
  await mailed(user.email)
  const { request_id, code } = await mailed(user.email)
  expect(await ask(user.email)).not.toBe(request_id)
  expect(await ask(someEmail(), { request_id })).not.toBe(request_id)
  expect(await ask(user.email, { request_id })).toBe(request_id)
  expect((await consume({ request_id, code })).status).toBe(200)
})

test('a code asks for the second factor, and a wrong second factor does not use up the code', async () => {
  const { user, access_token } = await build()
  const authenticator = await enableTwoFactor(service, access_token)
  const { request_id, code } = await mailed(user.email)
  const asked = await consume({ request_id, code })
  expect([asked.status, asked.body]).toEqual([401, { requires_2fa: true }])
  expectError(await consume({ request_id, code, two_factor_code: authenticator.wrongCode() }), 'invalid_two_factor_code')
  expect((await consume({ request_id, code, two_factor_code: authenticator.code() })).status).toBe(200)
})

describe('a code for an unproven account', () => {
  test('the code takes over the account and removes the password of the stranger who registered it', async () => {
    const { user } = await build({ verified: false })
    const { request_id, code } = await mailed(user.email)
    expect((await consume({ request_id, code })).status).toBe(200)
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
  })

  test('the account keeps everything if its password comes with the code, and a wrong password does not use up the code', async () => {
    const { user } = await build({ verified: false })
    const { request_id, code } = await mailed(user.email)
    expectError(await consume({ request_id, code, password: 'not the password' }), 'invalid_credentials')
    expect((await consume({ request_id, code, password: PASSWORD })).status).toBe(200)
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })
})

test('a code without access or for a suspended user is refused like a login, and stays valid', async () => {
  const { user } = await build()
  const { request_id, code } = await mailed(user.email)
  const path = `/admin/users/${user.id}`
  await service.admin('PATCH', path, { body: { status: 'suspended' } })
  expectError(await consume({ request_id, code }), 'account_suspended')
  await service.admin('PATCH', path, { body: { status: 'active' } })
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
  expectError(await consume({ request_id, code }), 'app_inactive')
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'active' } })
  await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
  expectError(await consume({ request_id, code }), 'app_access_denied')
})

describe('wrong codes', () => {
  test('five of a thousand guesses from a hundred addresses are checked, and the owner still signs in', async () => {
    const { user } = await build()
    const known = (await service.login(user.email, app.code)).body.device_token
    const requests = [(await mailed(user.email)).request_id]
    for (let count = 0; count < 20; count += 1) requests.push(await ask(user.email))
    const guess = (index: number) =>
      consume(
        { request_id: requests[index % requests.length], code: String(index * 997).padStart(6, '0') },
        { 'x-forwarded-for': `198.51.100.${index % 100}` },
      )
    // No more at once than the queue of the kernel holds.
    const rounds = [0, 250, 500, 750].map((from) => () => atOnce(250, (index) => guess(from + index)))
    const replies: Awaited<ReturnType<typeof guess>>[] = []
    for (const round of rounds) replies.push(...(await round()))
    expect(replies).toHaveLength(1_000)
    const judged = replies.filter(({ status, body }) => status === 200 || body.code === 'invalid_mail_code')
    expect(judged.length).toBeLessThanOrEqual(5)
    for (const { body } of replies.filter((reply) => !judged.includes(reply))) expect(body.code).toBe('account_locked')
    await allSent(service)
    for (const _ of [2, 3]) await mailbox.take(user.email, /^Sign in to/)
    service.advance(15 * 60)
    // The lock lasts longer than the slots of the mails: a known device does not care, nor does the link.
    expectError(await consume({ request_id: requests[0], code: '000000' }), 'invalid_mail_code')
    for (const by of [1, 2, 3, 4]) await consume({ request_id: requests[by], code: '000000' })
    const { request_id, code, mail } = await mailed(user.email)
    const locked = await consume({ request_id, code })
    expectError(locked, 'account_locked')
    expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(15 * 60)
    expect((await consume({ request_id, code, device_token: known })).status).toBe(200)
    expectError(await service.call('POST', '/auth/magic-link/consume', { body: { token: mail.token } }), 'invalid_token')
  })

  test('wrong codes on the page and in the API are counted together', async () => {
    const { user } = await build()
    const visitor = visit(service)
    const asks = await visitor.send(await visitor.get(askFor(app).path), 'E-mail me a code')
    const page = await visitor.send(asks, 'Send the code', { email: user.email })
    const ofPage = codeIn(await mailbox.take(user.email, /^Sign in to/))
    const { request_id, code } = await mailed(user.email)
    for (const by of [1, 2, 3]) expectError(await consume({ request_id, code: wrong(code, by) }), 'invalid_mail_code')
    for (const by of [1, 2]) expect((await visitor.send(page, 'Sign in', { code: wrong(ofPage, by) })).html).toContain('is wrong')
    expectError(await consume({ request_id, code }), 'account_locked')
    expect((await visitor.send(page, 'Sign in', { code: ofPage })).html).toContain('locked')
  })

  test('the lock leaves the password usable, is listed until an admin unlocks it, and is audited without a user', async () => {
    const { user } = await build()
    const { request_id, code } = await mailed(user.email)
    // Refusals from one address share an event.
    const from = { 'x-forwarded-for': '203.0.113.77' }
    for (let by = 1; by <= 5; by += 1)
      expectError(await consume({ request_id, code: wrong(code, by) }, from), 'invalid_mail_code')
    expectError(await consume({ request_id, code }, from), 'account_locked')
    const explained = (await service.admin('GET', `/admin/explain?${new URLSearchParams({ email: user.email, app: app.code })}`))
      .body
    const { detail } = explained.steps.find(({ name }: Json) => name === 'account')
    expect(detail).toMatch(/Codes by e-mail are locked for \d+ more seconds.*authctl user unlock/)
    const { items } = (await service.admin('GET', '/admin/lockouts?limit=200')).body
    expect(items).toContainEqual(expect.objectContaining({ key: expect.stringMatching(/^mail-code:/), failures: 5 }))
    const events = (await service.admin('GET', `/admin/audit?${new URLSearchParams({ email: user.email })}`)).body.items
    const reasons = events.map(({ event, reason, user_id }: Json) => [event, reason, user_id])
    expect(reasons).toContainEqual(['login.failed', 'invalid_mail_code', null])
    expect(reasons).toContainEqual(['user.locked', 'invalid_mail_code', null])
    expect((await service.login(user.email, app.code)).status).toBe(200)
    await service.admin('POST', `/admin/users/${user.id}/unlock`)
    expect((await consume({ request_id, code })).status).toBe(200)
  })

  test('a code that was used, replaced or expired restores no tries', async () => {
    const { user } = await build()
    const used = await mailed(user.email)
    expect((await consume({ request_id: used.request_id, code: used.code })).status).toBe(200)
    const old = await mailed(user.email)
    service.advance(10 * 60)
    const { request_id, code } = await mailed(user.email)
    const replies: Reply[] = []
    for (let by = 1; by <= 8; by += 1) {
      replies.push(await consume({ request_id, code: wrong(code, by) }))
      const { request_id: known, code: right } = by % 2 === 0 ? used : old
      expect((await consume({ request_id: known, code: right })).status).not.toBe(200)
    }
    expect(replies.filter(({ body }) => body.code === 'invalid_mail_code').length).toBeLessThanOrEqual(5)
    expectError(await consume({ request_id, code }), 'account_locked')
  })

  test('each further lock of codes lasts twice as long', async () => {
    const { user } = await build()
    const lock = async () => {
      const request_id = await ask(user.email)
      for (let by = 1; by <= 5; by += 1) await consume({ request_id, code: String(by).padStart(6, '0') })
      return Number((await consume({ request_id, code: '999999' })).headers.get('retry-after'))
    }
    const first = await lock()
    service.advance(first)
    expect(await lock()).toBe(2 * first)
  })
})

test('known and unknown addresses get equal answers after equal hashes', async () => {
  const hasher = await countBcrypts(service)
  const { user } = await build()
  const tries = async (email: string) => {
    hasher.reset()
    const request_id = await ask(email)
    const replies = [await consume({ request_id, code: '000000x' })]
    for (const _ of [2, 3, 4, 5, 6]) replies.push(await consume({ request_id, code: '12' }))
    const shown = replies.map(({ status, body: { request_id: _, ...rest } }) => [status, rest])
    return { shown, length: request_id.length - email.length, hashes: hasher.verified + hasher.hashed }
  }
  const known = await tries(user.email)
  const unknown = await tries(someEmail())
  expect(unknown.shown).toEqual(known.shown)
  expect(unknown.hashes).toBe(known.hashes)
})

test('known and unknown addresses cause the same statements in the same order, for the mail and for a wrong code', async () => {
  const own = await buildService({ DB_POOL_MAX: '1' })
  const ownApp = await buildApp(own, { auto_grant_on_signup: true })
  const elsewhere = await buildApp(own, { auto_grant_on_signup: true, registration_namespace: 'elsewhere' })
  const people: Record<string, () => Promise<string>> = {
    'a known address': async () => (await buildUser(own, ownApp)).user.email,
    'an unknown address': async () => someEmail(),
    'an address of another pool': async () => (await buildUser(own, elsewhere)).user.email,
    'a suspended account': async () => {
      const { user } = await buildUser(own, ownApp)
      await own.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
      return user.email
    },
    'an account with a second factor': async () => {
      const { user, access_token } = await buildUser(own, ownApp)
      await enableTwoFactor(own, access_token)
      return user.email
    },
  }
  const statements = await traceStatements(own)
  const tryOnce = async (email: string) => {
    const asked = await own.call('POST', '/auth/email-code', { body: { email, app_code: ownApp.code } })
    const ofMail = statements.splice(0)
    const body = { request_id: asked.body.request_id, code: 'no code' }
    const { status, body: answer } = await own.call('POST', '/auth/email-code/consume', { body })
    return { ofMail, ofCode: statements.splice(0), answer: [status, answer.code, answer.detail] }
  }
  await tryOnce(someEmail())
  const traces: Record<string, Awaited<ReturnType<typeof tryOnce>>> = {}
  for (const [who, someone] of Object.entries(people)) {
    const email = await someone()
    // What the service keeps in memory is read by the first call.
    await tryOnce(someEmail())
    traces[who] = await tryOnce(email)
  }
  const { 'a known address': known, ...others } = traces
  expect(known!.ofMail.length).toBeGreaterThan(3)
  expect(known!.ofCode.length).toBeGreaterThan(2)
  for (const [who, trace] of Object.entries(others)) expect(trace, who).toEqual(known)
})

test('a missing field or one of the wrong type is named, and an unknown app is refused', async () => {
  const { body } = await consume({ code: 123456 })
  expect(body.errors.map(({ path, code }: Json) => [path, code])).toEqual(
    expect.arrayContaining([
      ['request_id', 'required'],
      ['code', 'invalid_type'],
    ]),
  )
  const asked = (body: Json) => service.call('POST', '/auth/email-code', { body })
  expectError(await asked({ email: someEmail(), app_code: 'nobody' }), 'app_not_found')
  expectError(await asked({ email: someEmail() }), 'app_code_required')
  const inactive = await buildApp(service, { status: 'inactive' })
  expectError(await asked({ email: someEmail(), app_code: inactive.code }), 'app_inactive')
})

test('an app may list `email_code` beside a method that registers users, and no provider may have that name', async () => {
  const named = await service.admin('PATCH', `/admin/apps/${app.id}`, {
    body: { allowed_auth_methods: ['password', 'email_code'] },
  })
  expect(named.status).toBe(200)
  const alone = await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { allowed_auth_methods: ['email_code'] } })
  expectError(alone, 'validation_failed')
  const provider = { code: 'email_code', issuer: 'https://issuer.example', client_id: 'x', client_secret: 'y' }
  expectError(await service.admin('POST', '/admin/sso-providers', { body: provider }), 'validation_failed')
})

test('a refused code writes only its count and its audit event', async () => {
  const { user } = await build()
  const { request_id, code } = await mailed(user.email)
  const before = await countRows(service, 'sessions', { user_id: user.id })
  expectError(await consume({ request_id, code: wrong(code) }), 'invalid_mail_code')
  expect(await countRows(service, 'sessions', { user_id: user.id })).toBe(before)
  expect((await consume({ request_id, code })).status).toBe(200)
})
