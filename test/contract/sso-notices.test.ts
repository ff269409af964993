// When an account is linked to a provider, or unlinked, a mail to the account's address says so.
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { fixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { arrive, buildSsoProvider, callbackOf, REDIRECT_URL, startProvider } from '../support/provider.ts'
import { buildApp, buildUser, type Json, PASSWORD, type Reply } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const provider = fixture(() => startProvider([callbackOf('acme')], onFileEnd))
let app: Json
const { service, mailbox } = mailingFixture()
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
  app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL] })
})

/** Logs in with the provider's account for this verified e-mail. Adds the account if there is none. */
async function logIn(email: string, headers: Record<string, string> = {}): Promise<Reply> {
  const known = [...provider.accounts].find(([, claims]) => claims.email === email)
  const subject = known?.[0] ?? provider.addAccount({ email, email_verified: true })
  const { code, verifier } = await arrive(service, { provider, code: 'acme', app, subject })
  return service.call('POST', '/auth/sso/token', { body: { code, code_verifier: verifier }, headers })
}

/** A user who has read the mail of the registration and given the password with its link. */
async function buildVerifiedUser(): Promise<Json> {
  const registered = await buildUser(service, app)
  const { token } = await mailbox.take(registered.user.email)
  await service.call('POST', '/auth/email/verify', { body: { token, password: PASSWORD } })
  return registered
}

async function takeNotice(email: string, subject: RegExp): Promise<Mail> {
  const mail = await mailbox.take(email, subject)
  expect([mail.links, mail.html.includes('<a ')]).toEqual([[], false])
  return mail
}

/** The text in one line, because it does not matter where lines break. */
const inOneLine = ({ text }: Mail) => text.replaceAll('\n', ' ')

test('a new link with a provider is reported once by mail, with time, place and program', async () => {
  const { user } = await buildVerifiedUser()
  expect(
    (await logIn(user.email, { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1' })).body.user
      .id,
  ).toBe(user.id)
  const told = await takeNotice(user.email, /^A way to sign in to .* was added$/)
  expect(inOneLine(told)).toContain('The provider acme was added to the ways to sign in to your account')
  expect(inOneLine(told)).toMatch(/When and where: Safari on iPhone, \d{1,2} \w+ \d{4}, \d\d:\d\d UTC, from 127\.0\.0\.1/)

  expect((await logIn(user.email)).status).toBe(200)
  await allSent(service)
  // Registration, and the one notice.
  expect(mailbox.mailsTo(user.email)).toHaveLength(2)
})

test('a user who is registered by a first login gets no notice', async () => {
  const email = `${randomUUID()}@example.com`
  expect((await logIn(email)).status).toBe(200)
  await allSent(service)
  expect(mailbox.mailsTo(email)).toEqual([])
})

test.each([
  ['', false],
  [', even after a click on the link of the first mail', true],
])('a person who takes an account over gets mails about what it lost and what was added%s', async (_, isClicked) => {
  const { user } = await buildUser(service, app)
  const { token } = await mailbox.take(user.email)
  if (isClicked) await service.call('POST', '/auth/email/verify', { body: { token } })
  expect((await logIn(user.email)).body.user.id).toBe(user.id)
  const lost = await takeNotice(user.email, /^Your e-mail address for .* was confirmed$/)
  expect(inOneLine(lost)).toContain('its linked providers, its names, its organization memberships and its sessions were removed')
  await takeNotice(user.email, /^A way to sign in to .* was added$/)
  expectError(await service.login(user.email, app.code), 'invalid_credentials')
})

test('an unlink is reported by mail, without the IP address of an admin who did it', async () => {
  const { user, access_token: token } = await buildVerifiedUser()
  const unlinked = /^A way to sign in to .* was removed$/
  const linkedId = async () => {
    await logIn(user.email)
    await takeNotice(user.email, /^A way to sign in to .* was added$/)
    const { items } = (await service.call('GET', '/auth/identities', { token })).body
    return items[0].id
  }
  expect((await service.call('DELETE', `/auth/identities/${await linkedId()}`, { token })).status).toBe(204)
  const own = await takeNotice(user.email, unlinked)
  expect(inOneLine(own)).toContain('Hello,  The provider acme was removed')
  expect(own.text).toMatch(/from\s127\.0\.0\.1/)

  expect((await service.admin('DELETE', `/admin/users/${user.id}/identities/${await linkedId()}`)).status).toBe(204)
  const byAdmin = await takeNotice(user.email, unlinked)
  expect(inOneLine(byAdmin)).toContain('An administrator removed the provider acme')
  expect(byAdmin.text).not.toMatch(/from\s127/)
})

test('a refused link or unlink is not reported', async () => {
  const careful = await buildVerifiedUser()
  await enableTwoFactor(service, careful.access_token)
  await mailbox.take(careful.user.email, /turned on/)
  expect((await logIn(careful.user.email)).body).toEqual({ requires_2fa: true })

  const email = `${randomUUID()}@example.com`
  const { access_token: token } = (await logIn(email)).body
  const { items } = (await service.call('GET', '/auth/identities', { token })).body
  expectError(await service.call('DELETE', `/auth/identities/${items[0].id}`, { token }), 'last_sign_in_method')
  await allSent(service)
  expect(mailbox.mailsTo(careful.user.email)).toHaveLength(2)
  expect(mailbox.mailsTo(email)).toEqual([])
})
