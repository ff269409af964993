// The mail that verifies an address, and the ways to ask for one.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, startSending } from '../support/mailbox.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Reply } from '../support/service.ts'
import { traceStatements } from '../support/trace-statements.ts'

const FRONTEND = 'https://shop.example.com/account'
const { service, mailbox } = mailingFixture()
const app = appFixture(service, {
  name: 'The Shop',
  frontend_url: FRONTEND,
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example.com/after/*'],
})

const anAddress = () => `${randomUUID()}@example.com`
const verify = (token: string) => service.call('POST', '/auth/email/verify', { body: { token } })
const ask = (path: string, email: string, extra: Record<string, unknown> = {}): Promise<Reply> =>
  service.call('POST', path, { body: { email, app_code: app.code, ...extra } })
const resend = (email: string, extra: Record<string, unknown> = {}) => ask('/auth/email/resend', email, extra)

describe('mail after a registration', () => {
  // covers app-frontend-url register-mail
  test("the mail links to the app's frontend, and its token verifies the address once", async () => {
    const { user } = await buildUser(service, app)
    expect(user.email_verified).toBe(false)
    const mail = await mailbox.take(user.email)
    expect(mail).toMatchObject({
      subject: 'Confirm your e-mail address for The Shop',
      links: [expect.any(String), expect.any(String)],
    })
    expect(mail.links[0]).toMatch(/^https:\/\/shop\.example\.com\/account\/verify-email\?token=gmt_[\w-]{43}$/)

    const verified = await verify(mail.token)
    expect([verified.status, verified.body]).toEqual([200, { user: { ...user, email_verified: true } }])
    expectError(await verify(mail.token), 'invalid_token')
    expect((await auditEvents(service, { user_id: user.id, event: 'email.verified' }))[0]).toMatchObject({ app_id: app.id })
  })

  // covers app-frontend-url app-frontend-url-mails
  test('links to set a password, to sign in and to accept an invitation also lead to the frontend', async () => {
    const { user } = await buildUser(service, app)
    await mailbox.take(user.email)
    const { body: organization } = await service.admin('POST', '/admin/organizations', { body: { name: 'Guests' } })
    const invited = anAddress()
    await service.admin('POST', `/admin/organizations/${organization.id}/invitations`, {
      body: { email: invited, role_codes: ['org_member'], app_code: app.code },
    })
    const links = [(await mailbox.take(invited)).links[0]]
    for (const path of ['/auth/email/resend', '/auth/password/forgot', '/auth/magic-link']) {
      expect((await ask(path, user.email)).status).toBe(202)
      links.push((await mailbox.take(user.email)).links[0])
    }
    const pages = ['accept-invitation', 'verify-email', 'reset-password', 'magic-link']
    expect(links.map((link) => link?.split('?')[0])).toEqual(pages.map((page) => `${FRONTEND}/${page}`))
  })

  test('register_or_return mails a new user, and not an existing one', async () => {
    const email = anAddress()
    const call = () =>
      service.admin('POST', '/auth/register', {
        body: { email, password: 'correct horse battery', app_code: app.code, mode: 'register_or_return' },
      })
    expect((await call()).status).toBe(201)
    await mailbox.take(email)
    expect((await call()).status).toBe(200)
    await allSent(service)
    expect(mailbox.mailsTo(email)).toHaveLength(1)
  })

  test('a user whom an admin creates or imports gets no mail', async () => {
    const [created, imported] = [anAddress(), anAddress()]
    await service.admin('POST', '/admin/users', { body: { email: created } })
    await service.admin('POST', '/admin/users/import', {
      body: JSON.stringify({ email: imported }),
      headers: { 'content-type': 'application/x-ndjson' },
    })
    await allSent(service)
    expect([mailbox.mailsTo(created), mailbox.mailsTo(imported)]).toEqual([[], []])
  })

  test('a refused registration sends no mail', async () => {
    const { user } = await buildUser(service, app)
    const before = await countRows(service, 'outbox')
    expect((await service.register(user.email, app.code)).status).toBe(409)
    expect((await service.register(anAddress(), app.code, { invite_token: 'none' })).status).toBe(400)
    expect(await countRows(service, 'outbox')).toBe(before)
  })

  test('without a frontend_url the link leads to AUTH_DEFAULT_FRONTEND_URL, or else to the service', async () => {
    const plain = await buildApp(service)
    const { user } = await buildUser(service, plain)
    expect((await mailbox.take(user.email)).links[0]).toContain('http://localhost:4000/verify-email?token=')

    const elsewhere = await buildService({ SMTP_URL: mailbox.url, AUTH_DEFAULT_FRONTEND_URL: 'https://login.example.com/' })
    startSending(elsewhere)
    const second = await buildUser(elsewhere, await buildApp(elsewhere))
    expect((await mailbox.take(second.user.email)).links[0]).toContain('https://login.example.com/verify-email?token=')
  })
})

describe('a verification token', () => {
  test('a token is invalid after a newer one was sent', async () => {
    const { user } = await buildUser(service, app)
    const first = await mailbox.take(user.email)
    await resend(user.email)
    const second = await mailbox.take(user.email)
    expectError(await verify(first.token), 'invalid_token')
    expect((await verify(second.token)).status).toBe(200)
  })

  test('a token is valid for 24 hours', async () => {
    const { user } = await buildUser(service, app)
    const { token } = await mailbox.take(user.email)
    service.advance(24 * 3_600 - 30)
    const late = await buildUser(service, app)
    const lateMail = await mailbox.take(late.user.email)
    expect((await verify(token)).status).toBe(200)
    service.advance(24 * 3_600)
    expectError(await verify(lateMail.token), 'invalid_token')
  })

  test('a token is invalid after the address changed, or the account was suspended or deleted', async () => {
    const users = await Promise.all([1, 2, 3].map(() => buildUser(service, app)))
    const mails = await Promise.all(users.map(({ user }) => mailbox.take(user.email)))
    const [moved, suspended, deleted] = users.map(({ user }) => `/admin/users/${user.id}`)
    await service.admin('PATCH', moved!, { body: { email: anAddress() } })
    await service.admin('PATCH', suspended!, { body: { status: 'suspended' } })
    await service.admin('DELETE', deleted!)
    for (const { token } of mails) expectError(await verify(token), 'invalid_token')
    // The link was not used up: it works once the suspension ends.
    await service.admin('PATCH', suspended!, { body: { status: 'active' } })
    expect((await verify(mails[1]!.token)).status).toBe(200)
  })

  test('a token that is unknown, empty, malformed or of another purpose gets the same 400', async () => {
    const { user } = await buildUser(service, app)
    const { token } = await mailbox.take(user.email)
    await ask('/auth/password/forgot', user.email)
    const reset = await mailbox.take(user.email)
    for (const bad of [reset.token, `${token}x`, token.slice(4), '', 'x'.repeat(5_000), 'ë'])
      expectError(await verify(bad), 'invalid_token', bad)
    expectError(await service.call('POST', '/auth/email/verify', { body: {} }), 'validation_failed')
    expect((await verify(token)).status).toBe(200)
  })

  test('one of twenty concurrent uses of a token verifies the address', async () => {
    const { user } = await buildUser(service, app)
    const { token } = await mailbox.take(user.email)
    const replies = await atOnce(20, () => verify(token))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 200) expectError(reply, 'invalid_token')
    expect(await auditEvents(service, { user_id: user.id, event: 'email.verified' })).toHaveLength(1)
  })

  test('only the hash of a token is stored, and the mail is not kept after it was sent', async () => {
    const { user } = await buildUser(service, app)
    const { token } = await mailbox.take(user.email)
    await allSent(service)
    const stored = [...(await service.deps.db('mail_tokens')), ...(await service.deps.db('outbox'))]
    expect(JSON.stringify(stored)).not.toContain(token)
    expect(await service.deps.db('outbox').where({ user_id: user.id })).toMatchObject([
      { kind: 'mail', name: 'verify_email', status: 'delivered', payload: '{}', attempts: 1 },
    ])
  })
})

describe.each([
  ['verify_email', '/auth/email/resend', '/verify-email'],
  ['reset_password', '/auth/password/forgot', '/reset-password'],
  ['magic_link', '/auth/magic-link', '/magic-link'],
])('a request for %s', (purpose, path, linkPath) => {
  test('the reply and its statements are the same for known and unknown addresses, even beyond the limit', async () => {
    // No worker here, so all statements belong to the requests.
    const quiet = await buildService()
    const place = await buildApp(quiet)
    const known = (await buildUser(quiet, place)).user.email
    const statements = await traceStatements(quiet)
    const statementsOfFive = async (email: string) => {
      const all: string[][] = []
      for (let count = 0; count < 5; count += 1) {
        const { status, body } = await quiet.call('POST', path, { body: { email, app_code: place.code } })
        expect([status, body]).toEqual([202, {}])
        all.push(statements.splice(0))
      }
      return all
    }
    const asKnown = await statementsOfFive(known)
    expect(await statementsOfFive(anAddress())).toEqual(asKnown)
    expect(asKnown[0]!.length).toBeGreaterThan(2)
    // Requests beyond the three add nothing to the outbox.
    expect(await countRows(quiet, 'outbox', { name: purpose, user_id: null })).toBe(6)
  })

  test('the link contains the redirect URL if the app allows it', async () => {
    const { user } = await buildUser(service, app)
    await mailbox.take(user.email)
    const redirect = 'https://shop.example.com/after/cart?a=1&b=ü+%20'
    expect((await ask(path, user.email, { redirect_url: redirect })).status).toBe(202)
    const { links } = await mailbox.take(user.email)
    const url = new URL(links[0]!)
    expect(url.origin + url.pathname).toBe(FRONTEND + linkPath)
    expect([...url.searchParams.keys()]).toEqual(['token', 'redirect_url'])
    expect(url.searchParams.get('redirect_url')).toBe(redirect)
    for (const bad of ['https://evil.example.com/after/', 'https://shop.example.com/after', 'javascript:alert(1)', 'x']) {
      const refused = await ask(path, user.email, { redirect_url: bad })
      expectError(refused, 'validation_failed', bad)
      expect(refused.body.errors).toMatchObject([{ path: 'redirect_url', code: 'invalid_value' }])
    }
    for (const none of ['', ' ', null]) expect((await ask(path, anAddress(), { redirect_url: none })).status).toBe(202)
  })

  test('the request must name an app, as at a login', async () => {
    for (const none of [undefined, null, ' '])
      expectError(await ask(path, anAddress(), { app_code: none }), 'app_code_required', String(none))
    expectError(await ask(path, anAddress(), { app_code: 'no-such-app' }), 'app_not_found')
    const inactive = await buildApp(service, { status: 'inactive' })
    expectError(await ask(path, anAddress(), { app_code: inactive.code }), 'app_inactive')
    expectError(await ask(path, 'no address'), 'validation_failed')
  })

  test('a user outside the pools, suspended or deleted gets no mail', async () => {
    const elsewhere = await buildApp(service, { registration_namespace: `pool-${randomUUID()}` })
    const [outside, suspended, deleted] = [
      (await buildUser(service, elsewhere)).user,
      (await buildUser(service, app)).user,
      (await buildUser(service, app)).user,
    ]
    for (const { email } of [outside, suspended, deleted]) await mailbox.take(email)
    await service.admin('PATCH', `/admin/users/${suspended.id}`, { body: { status: 'suspended' } })
    await service.admin('DELETE', `/admin/users/${deleted.id}`)
    const unknown = anAddress()
    for (const email of [outside.email, suspended.email, deleted.email, unknown])
      expect((await ask(path, email)).status).toBe(202)
    await allSent(service)
    expect([outside.email, suspended.email, deleted.email, unknown].map((email) => mailbox.mailsTo(email).length)).toEqual([
      1, 1, 1, 0,
    ])
  })

  test('a user gets three mails in any 15 minutes, even if many requests arrive at once through several apps', async () => {
    const { user } = await buildUser(service, app)
    await mailbox.take(user.email)
    const other = await buildApp(service, { registration_namespace: `pool-${randomUUID()}` })
    // The mail of the registration is one of the three.
    const left = purpose === 'verify_email' ? 2 : 3
    await atOnce(10, () => ask(path, user.email, { app_code: other.code }))
    await atOnce(20, () => ask(path, user.email))
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(1 + left)

    service.advance(14 * 60)
    await ask(path, user.email)
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(1 + left)
    service.advance(61)
    await ask(path, user.email)
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(2 + left)
  })
})

test('the limit applies to any 15 minutes, not to a window that restarts', async () => {
  const { user } = await buildUser(service, app)
  await mailbox.take(user.email)
  const askThrice = async () => {
    for (let count = 0; count < 3; count += 1) await ask('/auth/password/forgot', user.email)
    await allSent(service)
    return mailbox.mailsTo(user.email).length - 1
  }
  await ask('/auth/password/forgot', user.email)
  await allSent(service)
  service.advance(14 * 60)
  expect(await askThrice()).toBe(3)
  service.advance(2 * 60)
  expect(await askThrice()).toBe(4)
})

test('a verified address gets no more verification mails, but still gets other mails', async () => {
  const { user } = await buildUser(service, app)
  await verify((await mailbox.take(user.email)).token)
  await resend(user.email)
  await allSent(service)
  expect(mailbox.mailsTo(user.email)).toHaveLength(1)
  await ask('/auth/password/forgot', user.email)
  expect((await mailbox.take(user.email)).links[0]).toContain('/reset-password?')
})

test('an app whose allowed methods exclude magic_link still mails links', async () => {
  const strict = await buildApp(service, { allowed_auth_methods: ['google'] })
  for (const path of ['/auth/magic-link', '/auth/password/forgot'])
    expect((await ask(path, anAddress(), { app_code: strict.code })).status).toBe(202)
})
