// Apps that admit only users who have proven their mailbox.
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { auditEvents, countRows, countWrites } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({ AUTH_LOCKOUT_THRESHOLD: '3' }, { frozen: true })
const open = appFixture(service)
const asking = appFixture(service, { auto_grant_on_signup: true, require_verified_email: true })

const verify = (token: string, extra: Json = {}, bearer?: string) =>
  service.call('POST', '/auth/email/verify', { body: { token, ...extra }, ...(bearer ? { token: bearer } : {}) })
const disown = (token: string) => service.call('POST', '/auth/email/disown', { body: { token } })
const ask = async (path: string, email: string, through = asking): Promise<Mail> => {
  await service.call('POST', path, { body: { email, app_code: through.code } })
  return mailbox.take(email)
}
const show = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body

/** Registers a user, and takes the mail that this causes. */
async function register(through: Json = asking, extra: Json = {}): Promise<{ reply: Reply; user: Json; mail: Mail }> {
  const email = someEmail()
  const reply = await service.register(email, through.code, extra)
  expect(reply.status).toBe(201)
  return { reply, user: reply.body.user, mail: await mailbox.take(email) }
}

describe('a registration', () => {
  test('a registration gives no token, and the app provisions the user at the first entry', async () => {
    const organization = await buildOrganization(service)
    const linked = await buildApp(service)
    const app = await buildApp(service, {
      ...{ auto_grant_on_signup: true, require_verified_email: true },
      ...{ default_organization_id: organization.id, linked_app_codes: [linked.code] },
    })
    const { reply, user, mail } = await register(app)
    expect(reply.body).toMatchObject({ created: true, access: 'unverified', organization: null })
    expect(reply.body).not.toHaveProperty('access_token')
    expect(await show(user.id)).toMatchObject({ apps: [], organizations: [], email_verified: false })
    expect((await verify(mail.token, { password: PASSWORD })).body.user.email_verified).toBe(true)
    expect(await show(user.id)).toMatchObject({ apps: [], organizations: [] })
    expect((await service.login(user.email, app.code)).status).toBe(200)
    const { apps, organizations } = await show(user.id)
    expect(apps.map(({ app_code }: Json) => app_code).sort()).toEqual([app.code, linked.code].sort())
    expect(organizations).toMatchObject([{ id: organization.id }])
  })

  test('a founder joins no other organization at the first entry, and a user of another app does', async () => {
    const organization = await buildOrganization(service)
    const app = await buildApp(service, {
      ...{ auto_grant_on_signup: true, require_verified_email: true, default_organization_id: organization.id },
    })
    const founder = await register(app, { organization_name: 'Founded' })
    expect(founder.reply.body).toMatchObject({ access: 'unverified', organization: { name: 'Founded' } })
    await verify(founder.mail.token, { password: PASSWORD })
    expect((await service.login(founder.user.email, app.code)).status).toBe(200)
    expect((await show(founder.user.id)).organizations).toMatchObject([{ name: 'Founded' }])

    const other = await register(open, { organization_name: 'Elsewhere' })
    await verify(other.mail.token, { password: PASSWORD })
    expect((await service.login(other.user.email, app.code)).status).toBe(200)
    expect((await show(other.user.id)).organizations).toHaveLength(2)
  })

  test('a registration with the invitation that an admin mailed to the address is let in at once', async () => {
    const organization = await buildOrganization(service)
    const email = someEmail()
    const token = await buildInvitation(service, { organizationId: organization.id, email })
    const reply = await service.register(email, asking.code, { invite_token: token })
    expect(reply.body).toMatchObject({ access: 'granted', access_token: expect.any(String), user: { email_verified: true } })
    expect(claimsOf(reply.body.access_token).email_verified).toBe(true)
  })

  test('register_or_login of an unverified user is refused like a login, and register_or_return says why', async () => {
    const { user } = await register()
    const again = await service.register(user.email, asking.code, { mode: 'register_or_login' })
    expectError(again, 'email_unverified')
    const body = { email: user.email, password: PASSWORD, app_code: asking.code, mode: 'register_or_return' }
    expect((await service.admin('POST', '/auth/register', { body })).body).toMatchObject({ created: false, access: 'unverified' })
  })
})

describe('a login', () => {
  test('a login reports an unverified address only after the right password, before the code, and counts no failure', async () => {
    const { user, access_token } = await buildUser(service, open)
    await mailbox.take(user.email)
    await enableTwoFactor(service, access_token)
    for (let count = 0; count < 5; count += 1) expectError(await service.login(user.email, asking.code), 'email_unverified')
    expectError(await service.login(user.email, asking.code, { password: 'a wrong one' }), 'invalid_credentials')
    expect(await auditEvents(service, { event: 'login.failed', user_id: user.id, reason: 'email_unverified' })).toHaveLength(5)
    expect((await service.login(user.email, open.code)).body).toEqual({ requires_2fa: true })
    expect(await countRows(service, 'user_apps', { user_id: user.id, app_id: asking.id })).toBe(0)
  })

  test('a login of a suspended account is account_suspended, even if the address is unverified', async () => {
    const { user } = await register()
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    expectError(await service.login(user.email, asking.code), 'account_suspended')
  })

  test('a login says in its token whether the address is verified, through every app', async () => {
    const { user, mail } = await register(open)
    const before = (await service.login(user.email, open.code)).body
    expect(claimsOf(before.access_token).email_verified).toBe(false)
    await verify(mail.token)
    const { body } = await service.call('POST', '/auth/refresh', { body: { refresh_token: before.refresh_token } })
    expect(claimsOf(body.access_token).email_verified).toBe(true)
  })

  test('explain reports the unverified address like a login', async () => {
    const { user } = await register()
    const query = new URLSearchParams({ email: user.email, app: asking.code })
    const { body } = await service.admin('GET', `/admin/explain?${query}`)
    expect(body.outcome).toBe('email_unverified')
    expect(body.steps.at(-1)).toMatchObject({ step: 4, name: 'account', ok: false, detail: expect.stringMatching(/magic link/) })
  })
})

describe('a refresh', () => {
  test('a refresh is refused while the address is unverified, and spends nothing', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { reply, mail } = await register(app)
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { require_verified_email: true } })
    const body = { refresh_token: reply.body.refresh_token }
    for (let count = 0; count < 2; count += 1)
      expectError(await service.call('POST', '/auth/refresh', { body }), 'email_unverified')
    const change = { current_password: PASSWORD, new_password: 'another fine password' }
    const changed = await service.call('POST', '/auth/password/change', { token: reply.body.access_token, body: change })
    expectError(changed, 'email_unverified')
    expect((await verify(mail.token, {}, reply.body.access_token)).status).toBe(200)
    expect((await service.call('POST', '/auth/refresh', { body })).status).toBe(200)
  })

  test('a refresh is refused once an admin has given the account another address', async () => {
    const { user, mail } = await register()
    await verify(mail.token, { password: PASSWORD })
    const { refresh_token } = (await service.login(user.email, asking.code)).body
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { email: someEmail() } })
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token } }), 'email_unverified')
  })
})

describe('the proofs that open the app', () => {
  test('the link of the mail opens the app with the password, and with a bearer of the account', async () => {
    const byPassword = await register()
    expect((await verify(byPassword.mail.token, { password: PASSWORD })).status).toBe(200)
    expect((await service.login(byPassword.user.email, asking.code)).status).toBe(200)
    const byBearer = await register(open)
    expect((await verify(byBearer.mail.token, {}, byBearer.reply.body.access_token)).status).toBe(200)
    expect((await service.login(byBearer.user.email, asking.code)).status).toBe(200)
  })

  test('the link alone, or with the bearer of another account, verifies but does not open the app, and another mail does', async () => {
    const stranger = await register(open)
    for (const bearer of [undefined, stranger.reply.body.access_token, 'x.y.z']) {
      const { user, mail } = await register()
      const { status, body } = await verify(mail.token, {}, bearer)
      expect([status, body.user.email_verified]).toEqual([200, true])
      expectError(await service.login(user.email, asking.code), 'email_unverified')
      const another = await ask('/auth/email/resend', user.email)
      expect((await verify(another.token, { password: PASSWORD })).status).toBe(200)
      expect((await service.login(user.email, asking.code)).status).toBe(200)
      // Now there is nothing left to verify.
      await service.call('POST', '/auth/email/resend', { body: { email: user.email, app_code: asking.code } })
      await allSent(service)
      expect(mailbox.mailsTo(user.email)).toHaveLength(2)
    }
  })

  test('a wrong password spends nothing, counts as a failed login, and locks like one', async () => {
    const { user, mail } = await register()
    for (let count = 0; count < 3; count += 1)
      expectError(await verify(mail.token, { password: 'a guess' }), 'invalid_credentials')
    expectError(await verify(mail.token, { password: PASSWORD }), 'account_locked')
    expectError(await service.login(user.email, asking.code), 'account_locked')
    expect((await show(user.id)).email_verified).toBe(false)
    expect(await auditEvents(service, { event: 'reauthentication.failed', user_id: user.id })).not.toHaveLength(0)
    service.advance(900)
    expect((await verify(mail.token, { password: PASSWORD })).status).toBe(200)
  })

  test('a magic link opens the app, and removes what a stranger had put in', async () => {
    const { user } = await register()
    const link = await ask('/auth/magic-link', user.email)
    const entered = await service.call('POST', '/auth/magic-link/consume', { body: { token: link.token } })
    expect([entered.status, entered.body.user.email_verified]).toEqual([200, true])
    expectError(await service.login(user.email, asking.code), 'invalid_credentials')
    const { refresh_token } = entered.body
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token } })).status).toBe(200)
  })

  test('a password reset opens the app, even if the link alone had verified the address', async () => {
    const { user, mail } = await register()
    await verify(mail.token)
    const { token } = await ask('/auth/password/forgot', user.email)
    const password = 'one of the owner alone'
    expect((await service.call('POST', '/auth/password/reset', { body: { token, password } })).status).toBe(204)
    expect((await service.login(user.email, asking.code, { password })).status).toBe(200)
  })
})

describe('"this was not me"', () => {
  test('"this was not me" is a link in every verification mail, with the app, the time and the address', async () => {
    const { user, mail } = await register(open)
    const again = await ask('/auth/email/resend', user.email, open)
    for (const { links, text, token } of [mail, again]) {
      expect(links).toHaveLength(2)
      expect(links[1]).toBe(`http://localhost:4000/disown-email?token=${token}`)
      expect(text).toMatch(/^When and where: .*\d{1,2} \w+ \d{4},\s\d\d:\d\d\sUTC,\sfrom\s127\.0\.0\.1$/m)
      expect(text).toContain(open.name)
    }
  })

  test('"this was not me" deletes an account that nobody has proven, ends its tokens and frees the address', async () => {
    const { reply, user, mail } = await register(open)
    expect((await disown(mail.token)).status).toBe(204)
    expect((await show(user.id)).status).toBe('deleted')
    expectError(await service.call('GET', '/auth/me', { token: reply.body.access_token }), 'token_revoked')
    expectError(await service.login(user.email, open.code), 'invalid_credentials')
    const [event] = await auditEvents(service, { event: 'user.deleted', user_id: user.id })
    expect(event).toMatchObject({ reason: 'disowned', actor_type: 'anonymous' })
    expectError(await disown(mail.token), 'invalid_token')
    expect((await service.register(user.email, open.code)).status).toBe(201)
  })

  test('"this was not me" leaves an account that somebody has proven or an operator has made, and its link is spent', async () => {
    const email = someEmail()
    const { body: made } = await service.admin('POST', '/admin/users', { body: { email, password: PASSWORD } })
    const { token } = await ask('/auth/email/resend', email, open)
    expect((await disown(token)).status).toBe(204)
    expect((await show(made.id)).status).toBe('active')
    expectError(await verify(token), 'invalid_token')

    const { user, mail } = await register(open)
    await verify(mail.token)
    expectError(await disown(mail.token), 'invalid_token')
    expect((await show(user.id)).status).toBe('active')
  })

  test('either "this was not me" or a concurrent confirmation takes effect, and the other one does nothing', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { user, mail } = await register(open)
      const replies = await atOnce(8, (index) => (index % 2 === 0 ? disown(mail.token) : verify(mail.token)))
      const passed = replies.filter(({ status }) => status < 300)
      expect(passed).toHaveLength(1)
      const { status, email_verified } = await show(user.id)
      expect([status, email_verified]).toEqual(passed[0]!.status === 204 ? ['deleted', false] : ['active', true])
    }
  })
})

test('a registration that founds an organization is refused if the app does not allow that, and writes nothing', async () => {
  const app = await buildApp(service, { auto_grant_on_signup: true, organization_sign_up: false })
  const before = await countWrites(service)
  for (const mode of ['register', 'register_or_login'])
    expectError(await service.register(someEmail(), app.code, { organization_name: 'Mine', mode }), 'organization_sign_up_closed')
  expect(await countWrites(service)).toEqual(before)
  expect((await service.register(someEmail(), app.code, { organization_name: ' ' })).status).toBe(201)
  // An invited user founds no organization, so a name does no harm.
  const organization = await buildOrganization(service)
  const token = await buildInvitation(service, { organizationId: organization.id })
  const invited = await service.register(someEmail(), app.code, { organization_name: 'Mine', invite_token: token })
  expect([invited.status, invited.body.organization.id]).toEqual([201, organization.id])
  expect((await service.admin('GET', `/admin/apps/${open.id}`)).body).toMatchObject({
    ...{ organization_sign_up: true, require_verified_email: false },
  })
})
