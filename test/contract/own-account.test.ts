// What users change in their own account besides names and password: the e-mail address, and deleting the account.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { assignRole, buildOrganization, buildRole } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, buildMailingService, type Mail, sendNow, until } from '../support/mailbox.ts'
import { buildSsoProvider, callbackOf, startProvider } from '../support/provider.ts'
import { auditEvents, countRows, markVerified } from '../support/rows.ts'
import {
  ADMIN_EMAIL,
  buildApp,
  buildService,
  buildUser,
  claimsOf,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
} from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({ AUTH_RATE_LIMIT_USER: 'off' }, { frozen: true })
const app = appFixture(service)
const asking = appFixture(service, { auto_grant_on_signup: true, require_verified_email: true })
const aged = 10 * 60

const change = (token: string, body: Json) => service.call('POST', '/auth/email/change', { token, body })
const confirm = (token: string, extra: Json = {}, bearer?: string) =>
  service.call('POST', '/auth/email/change/confirm', { body: { token, ...extra }, ...(bearer ? { token: bearer } : {}) })
const undo = (token: string) => service.call('POST', '/auth/email/change/undo', { body: { token } })
const me = (token: string) => service.call('GET', '/auth/me', { token })
const refresh = (refresh_token: string): Promise<Reply> => service.call('POST', '/auth/refresh', { body: { refresh_token } })
const show = async (id: string): Promise<Json> => (await service.admin('GET', `/admin/users/${id}`)).body

interface Changing {
  user: Json
  tokens: Json
  /** The new address. */
  email: string
  /** The mail to the new address. */
  link: Mail
}

/** A user with a proven address who has asked for another one. */
async function buildChanging(): Promise<Changing> {
  const { user, ...tokens } = await buildUser(service, app)
  await mailbox.take(user.email)
  await markVerified(service, user.id)
  const email = someEmail()
  expect((await change(tokens.access_token, { email, password: PASSWORD })).status).toBe(202)
  return { user, tokens, email, link: await mailbox.take(email) }
}

async function buildChanged(): Promise<Changing & { undoLink: Mail }> {
  const changing = await buildChanging()
  expect((await confirm(changing.link.token, { password: PASSWORD })).status).toBe(200)
  const tokens = (await refresh(changing.tokens.refresh_token)).body
  return { ...changing, tokens, undoLink: await mailbox.take(changing.user.email, /was changed/) }
}

/** A user without a password, who has just come in by a magic link. */
async function buildPasswordless(): Promise<{ user: Json; access_token: string; refresh_token: string }> {
  const { user } = await buildUser(service, app)
  await mailbox.take(user.email)
  await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: app.code } })
  const { token } = await mailbox.take(user.email, /^Sign in to/)
  const { status, body } = await service.call('POST', '/auth/magic-link/consume', { body: { token } })
  expect(status).toBe(200)
  await mailbox.take(user.email, /was confirmed/)
  return body
}

describe('a change of the e-mail address', () => {
  test('a change needs the password, even right after a login, and is mailed at once to the proven old address', async () => {
    const { access_token: token, user } = await buildUser(service, app)
    await mailbox.take(user.email)
    const email = someEmail()
    for (const wait of [0, aged]) {
      service.advance(wait)
      expectError(await change(token, { email }), 'fresh_login_required')
      expectError(await change(token, { email, password: 'a wrong one' }), 'invalid_credentials')
    }
    await allSent(service)
    expect(mailbox.mailsTo(email)).toEqual([])
    expect((await change(token, { email, password: PASSWORD })).status).toBe(202)
    await mailbox.take(email)
    expect(await auditEvents(service, { event: 'email.change_requested', user_id: user.id })).toHaveLength(1)
    await allSent(service)
    // Nobody has shown that the old address is the user's, so it is told nothing.
    expect(mailbox.mailsTo(user.email)).toHaveLength(1)

    await markVerified(service, user.id)
    await change(token, { email, password: PASSWORD })
    const notice = await mailbox.take(user.email, /^Another e-mail address was requested/)
    expect([notice.links, notice.text.includes('127.0.0.1')]).toEqual([[], true])
  })

  test('a change needs a code if a second factor is active', async () => {
    const { access_token: token } = await buildUser(service, app)
    const phone = await enableTwoFactor(service, token)
    service.advance(aged)
    const body = { email: someEmail(), password: PASSWORD }
    expectError(await change(token, body), 'fresh_login_required')
    expect((await change(token, { ...body, two_factor_code: phone.code() })).status).toBe(202)
  })

  test('a change takes effect when the mailed link is opened, and ends access tokens but not sessions', async () => {
    const { user, tokens, email, link } = await buildChanging()
    expect(link.links[0]).toMatch(/^http:\/\/localhost:4000\/confirm-email\?token=gmt_/)
    expect(link.text).toMatch(/from\s127\.0\.0\.1/)
    expect((await show(user.id)).email).toBe(user.email)
    const confirmed = await confirm(link.token, { password: PASSWORD })
    expect([confirmed.status, confirmed.body]).toEqual([200, { user: { ...user, email, email_verified: true } }])
    expectError(await confirm(link.token, { password: PASSWORD }), 'invalid_token')
    expectError(await service.call('GET', '/auth/me', { token: tokens.access_token }), 'token_revoked')
    const { status, body } = await refresh(tokens.refresh_token)
    expect([status, claimsOf(body.access_token).email]).toEqual([200, email])
    expect((await service.login(email, app.code)).status).toBe(200)
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
    const [event] = await auditEvents(service, { event: 'user.updated', user_id: user.id })
    expect(event.details).toMatchObject({ before: { email: user.email }, after: { email } })
  })

  test('a change invalidates links and device tokens of the old address', async () => {
    const { user, tokens } = await buildUser(service, app).then(({ user, ...tokens }) => ({ user, tokens }))
    const verification = await mailbox.take(user.email)
    await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: app.code } })
    const reset = await mailbox.take(user.email)
    const email = someEmail()
    await change(tokens.access_token, { email, password: PASSWORD })
    expect((await confirm((await mailbox.take(email)).token, { password: PASSWORD })).status).toBe(200)
    expectError(await service.call('POST', '/auth/email/verify', { body: { token: verification.token } }), 'invalid_token')
    const body = { token: reset.token, password: 'one of a stranger' }
    expectError(await service.call('POST', '/auth/password/reset', { body }), 'invalid_token')
  })

  test('a change to a taken address looks like any other, and is refused when the link is opened', async () => {
    const other = (await buildUser(service, app)).user
    await mailbox.take(other.email)
    const { access_token: token, user } = await buildUser(service, app)
    expect((await change(token, { email: other.email, password: PASSWORD })).status).toBe(202)
    const link = await mailbox.take(other.email)
    const refused = await confirm(link.token, { password: PASSWORD })
    expectError(refused, 'email_exists_in_pool')
    expect(JSON.stringify(refused.body)).not.toContain(other.id)
    expect((await show(user.id)).email).toBe(user.email)
    // The link was not used up: it works once the address is free.
    await service.admin('DELETE', `/admin/users/${other.id}`)
    expect((await confirm(link.token, { password: PASSWORD })).status).toBe(200)
  })

  test('a change to the present address or an invalid address is refused', async () => {
    const { access_token: token, user } = await buildUser(service, app)
    const own = { email: user.email.toUpperCase(), password: PASSWORD }
    expect(faultsOf(await change(token, own))).toEqual(['email: invalid_value'])
    expect(faultsOf(await change(token, { email: 'nobody' }))).toEqual(['email: invalid_value'])
    expect(faultsOf(await change(token, { email: someEmail(), app_code: 'x' }))).toEqual(['app_code: unknown_field'])
  })

  test('one of twenty concurrent confirmations succeeds, and one of two users who want the same address', async () => {
    const { link } = await buildChanging()
    const replies = await atOnce(20, () => confirm(link.token, { password: PASSWORD }))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)

    const email = someEmail()
    const links: Mail[] = []
    for (let count = 0; count < 2; count += 1) {
      await change((await buildUser(service, app)).access_token, { email, password: PASSWORD })
      links.push(await mailbox.take(email))
    }
    const rivals = await atOnce(2, (index) => confirm(links[index]!.token, { password: PASSWORD }))
    expect(rivals.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('a link is invalid after an admin changed the address, after 24 hours, and after a newer link', async () => {
    const [moved, old, twice] = [await buildChanging(), await buildChanging(), await buildChanging()]
    await service.admin('PATCH', `/admin/users/${moved.user.id}`, { body: { email: someEmail() } })
    expectError(await confirm(moved.link.token, { password: PASSWORD }), 'invalid_token')
    const newer = someEmail()
    await change(twice.tokens.access_token, { email: newer, password: PASSWORD })
    await mailbox.take(newer)
    expectError(await confirm(twice.link.token, { password: PASSWORD }), 'invalid_token')
    service.advance(24 * 3_600)
    expectError(await confirm(old.link.token, { password: PASSWORD }), 'invalid_token')
  })

  test('a change is confirmed with the password or a bearer of the account, and the link alone does not spend it', async () => {
    const stranger = await buildUser(service, app)
    for (const own of ['password', 'bearer']) {
      const { user, tokens, email, link } = await buildChanging()
      for (const bearer of [undefined, stranger.access_token, 'x.y.z'])
        expect(faultsOf(await confirm(link.token, {}, bearer))).toEqual(['password: required'])
      expectError(await confirm(link.token, { password: 'a guess' }), 'invalid_credentials')
      expect((await show(user.id)).email).toBe(user.email)
      const evidence = own === 'password' ? [{ password: PASSWORD }] : [{}, tokens.access_token]
      expect((await confirm(link.token, ...(evidence as [Json, string?]))).status).toBe(200)
      expect((await service.login(email, asking.code)).status).toBe(200)
    }
  })

  test("a person who opens a stranger's link does not join that account, and can register the address later", async () => {
    const { access_token: token } = await buildUser(service, app)
    const victim = someEmail()
    await change(token, { email: victim, password: PASSWORD })
    expect(faultsOf(await confirm((await mailbox.take(victim)).token))).toEqual(['password: required'])
    expect((await service.register(victim, app.code)).status).toBe(201)
  })

  describe('events that drop a pending change', () => {
    const losses: Record<string, (changing: Changing) => Promise<unknown>> = {
      'a change of the password': ({ tokens }) =>
        service.call('POST', '/auth/password/change', {
          token: tokens.access_token,
          body: { current_password: PASSWORD, new_password: PASSWORD.toUpperCase() },
        }),
      'a logout everywhere': ({ tokens }) => service.call('POST', '/auth/logout-all', { token: tokens.access_token }),
      'a logout by an admin': ({ user }) => service.admin('POST', `/admin/users/${user.id}/logout`),
      'a suspension': async ({ user }) => {
        for (const status of ['suspended', 'active'])
          await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status } })
      },
      'a lost grant': ({ user }) => service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`),
      'a lost role': async ({ user }) => {
        const role = await buildRole(service, 'global')
        await assignRole(service, user.id, role)
        await service.admin('DELETE', `/admin/users/${user.id}/roles/${role}`)
      },
      'a reset': async ({ user }) => {
        await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: app.code } })
        const { token } = await mailbox.take(user.email, /^Set a new password/)
        await service.call('POST', '/auth/password/reset', { body: { token, password: PASSWORD.toUpperCase() } })
      },
    }

    test.each(Object.entries(losses))('a change is dropped by %s', async (_, lose) => {
      const changing = await buildChanging()
      await lose(changing)
      for (const password of [PASSWORD, PASSWORD.toUpperCase()])
        expectError(await confirm(changing.link.token, { password }), 'invalid_token')
      expect((await show(changing.user.id)).email).toBe(changing.user.email)
    })

    test('a change is dropped even while its mail waits to be sent', async () => {
      const { user, access_token: token } = await buildUser(service, app)
      const email = someEmail()
      await mailbox.take(user.email)
      await mailbox.close()
      expect((await change(token, { email, password: PASSWORD })).status).toBe(202)
      await service.call('POST', '/auth/logout-all', { token })
      await mailbox.open()
      await until(async () => {
        service.advance(60)
        sendNow(service)
        return (await countRows(service, 'outbox', { kind: 'mail', status: 'pending' })) === 0
      })
      expect(mailbox.mailsTo(email)).toEqual([])
    })
  })

  describe('a change for an account without a password', () => {
    test('a change is confirmed by a link to the old address, then by a link to the new one with a bearer', async () => {
      const { user, access_token: token } = await buildPasswordless()
      const email = someEmail()
      expect((await change(token, { email })).status).toBe(202)
      const allowing = await mailbox.take(user.email, /^Allow another e-mail address/)
      expect(allowing.links[0]).toMatch(/^http:\/\/localhost:4000\/confirm-email\?token=gmt_/)
      await allSent(service)
      expect(mailbox.mailsTo(email)).toEqual([])
      const allowed = await confirm(allowing.token)
      expect([allowed.status, allowed.body.user.email]).toEqual([200, user.email])
      expectError(await confirm(allowing.token), 'invalid_token')
      const link = await mailbox.take(email)
      expect(faultsOf(await confirm(link.token))).toEqual(['password: required'])
      expectError(await confirm(link.token, { password: PASSWORD }), 'invalid_credentials')
      expect((await confirm(link.token, {}, token)).body.user).toMatchObject({ email, email_verified: true })
      await mailbox.take(user.email, /was changed/)
      expect(await auditEvents(service, { event: 'email.change_allowed', user_id: user.id })).toHaveLength(1)
    })

    test('a change needs a login within ten minutes, and is dropped like any other, before and after it was allowed', async () => {
      const { user, access_token: token, refresh_token } = await buildPasswordless()
      const email = someEmail()
      await change(token, { email })
      const { token: allowing } = await mailbox.take(user.email, /^Allow/)
      service.advance(aged)
      expectError(await change(token, { email }), 'fresh_login_required')
      await service.call('POST', '/auth/logout-all', { token: (await refresh(refresh_token)).body.access_token })
      expectError(await confirm(allowing), 'invalid_token')

      const other = await buildPasswordless()
      await change(other.access_token, { email })
      await confirm((await mailbox.take(other.user.email, /^Allow/)).token)
      const link = await mailbox.take(email)
      await service.admin('POST', `/admin/users/${other.user.id}/logout`)
      expectError(await confirm(link.token, {}, other.access_token), 'invalid_token')
    })
  })

  test('the service has pages to confirm a change, to allow it and to take it back', async () => {
    const { user, email, link } = await buildChanging()
    const send = (path: string, token: string, extra: Record<string, string> = {}) =>
      fetch(`${service.url}${path}`, { method: 'POST', body: new URLSearchParams({ token, ...extra }) })
    const read = async (path: string, token: string) => (await fetch(`${service.url}${path}?token=${token}`)).text()
    expect(await read('/confirm-email', link.token)).toContain(email)
    expect((await send('/confirm-email', link.token)).status).toBe(400)
    expect((await send('/confirm-email', link.token, { password: 'a guess' })).status).toBe(401)
    expect((await send('/confirm-email', link.token, { password: PASSWORD })).status).toBe(200)
    expect((await show(user.id)).email).toBe(email)
    const { token } = await mailbox.take(user.email, /was changed/)
    expect(await read('/undo-email-change', token)).toContain(user.email)
    expect((await send('/undo-email-change', token)).status).toBe(200)
    expect((await show(user.id)).email).toBe(user.email)

    const passwordless = await buildPasswordless()
    const next = someEmail()
    await change(passwordless.access_token, { email: next })
    const allowing = await mailbox.take(passwordless.user.email, /^Allow/)
    expect(await read('/confirm-email', allowing.token)).toContain(next)
    expect(await (await send('/confirm-email', allowing.token)).text()).toContain('Look into the new mailbox')
    // The page has no session, so it shows the code for the app that has one.
    const { token: code } = await mailbox.take(next)
    expect(await read('/confirm-email', code)).toContain(`>${code}</textarea>`)
    expect(await (await send('/confirm-email', code)).text()).toContain(`>${code}</textarea>`)
    expect((await confirm(code, {}, passwordless.access_token)).status).toBe(200)
  })

  test('a change is refused in a session without an app, since its mail would have no link target', async () => {
    const service = await buildService({ AUTH_ALLOW_BASE_USER_LOGIN: 'true' })
    const { user } = await buildUser(service, await buildApp(service))
    const { body } = await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD } })
    const asked = await service.call('POST', '/auth/email/change', {
      token: body.access_token,
      body: { email: someEmail(), password: PASSWORD },
    })
    expectError(asked, 'app_code_required')
  })
})

describe('the link to the old address', () => {
  test('the link undoes the change and ends every session, for 72 hours, even if the app is inactive by then', async () => {
    const place = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token: token } = await buildUser(service, place)
    await mailbox.take(user.email)
    await markVerified(service, user.id)
    const email = someEmail()
    await change(token, { email, password: PASSWORD })
    await confirm((await mailbox.take(email)).token, { password: PASSWORD })
    await service.admin('PATCH', `/admin/apps/${place.id}`, { body: { status: 'inactive' } })
    const mail = await mailbox.take(user.email, /was changed/)
    expect(mail.links).toEqual([`http://localhost:4000/undo-email-change?token=${mail.token}`])
    service.advance(72 * 3_600 - 30)
    const undone = await undo(mail.token)
    expect([undone.status, undone.body.user.email]).toEqual([200, user.email])
    expectError(await undo(mail.token), 'invalid_token')

    const late = await buildChanged()
    service.advance(72 * 3_600)
    expectError(await undo(late.undoLink.token), 'invalid_token')
  })

  test('the link ends the sessions of the user who changed the address, and is audited', async () => {
    const { user, tokens, email, undoLink } = await buildChanged()
    const { body: thief } = await service.login(email, app.code)
    expect((await undo(undoLink.token)).status).toBe(200)
    for (const { access_token, refresh_token } of [tokens, thief]) {
      expectError(await me(access_token), 'token_revoked')
      expectError(await refresh(refresh_token), 'invalid_refresh_token')
    }
    // The thief knows the old password: the change asked for it.
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
    const reset = await mailbox.take(user.email, /^Set a new password/)
    const password = 'a password that no thief knows'
    expect((await service.call('POST', '/auth/password/reset', { body: { token: reset.token, password } })).status).toBe(204)
    expect((await service.login(user.email, app.code, { password })).status).toBe(200)
    expect(await auditEvents(service, { event: 'email.change_undone', user_id: user.id })).toHaveLength(1)
  })

  test('the link works after any number of further changes, and invalidates the links of those changes', async () => {
    const { user, tokens, email: second, undoLink: first } = await buildChanged()
    const third = someEmail()
    service.advance(1)
    await change(tokens.access_token, { email: third, password: PASSWORD })
    await confirm((await mailbox.take(third)).token, { password: PASSWORD })
    const later = await mailbox.take(second, /was changed/)
    const fourth = someEmail()
    await change((await refresh(tokens.refresh_token)).body.access_token, { email: fourth, password: PASSWORD })
    const pending = await mailbox.take(fourth)
    // Also after the later change was undone.
    expect((await undo(later.token)).body.user.email).toBe(second)
    expect((await undo(first.token)).body.user.email).toBe(user.email)
    for (const { token } of [first, later]) expectError(await undo(token), 'invalid_token')
    expectError(await confirm(pending.token), 'invalid_token')
  })

  test('the link restores the old address even if a stranger has registered it without proving it', async () => {
    const { user, undoLink } = await buildChanged()
    const squatter = (await service.register(user.email, app.code)).body
    expect((await undo(undoLink.token)).body.user).toMatchObject({ id: user.id, email: user.email })
    expect((await show(squatter.user.id)).status).toBe('deleted')
    expectError(await me(squatter.access_token), 'token_revoked')

    const other = await buildChanged()
    const owner = (await service.register(other.user.email, app.code)).body.user
    await markVerified(service, owner.id)
    expectError(await undo(other.undoLink.token), 'email_exists_in_pool')
    expect((await show(other.user.id)).email).toBe(other.email)
  })

  test('the link is not mailed to an address that was never proven', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const first = await mailbox.take(user.email)
    // A stranger whose address was mistyped may have clicked.
    await service.call('POST', '/auth/email/verify', { body: { token: first.token } })
    const email = someEmail()
    await change(token, { email, password: PASSWORD })
    expect((await confirm((await mailbox.take(email)).token, { password: PASSWORD })).status).toBe(200)
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(1)
  })

  test('the link restores how far the address was verified, so a mere click opens no app that requires proof', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    await markVerified(service, user.id)
    await service.deps.db('users').where({ id: user.id }).update({ mailbox_proven_at: null })
    const email = someEmail()
    await change(token, { email, password: PASSWORD })
    await confirm((await mailbox.take(email)).token, { password: PASSWORD })
    expect((await service.login(email, asking.code)).status).toBe(200)
    await undo((await mailbox.take(user.email, /was changed/)).token)
    const provenAt = async (id: string) =>
      (await service.deps.db('users').where({ id }).first('mailbox_proven_at')).mailbox_proven_at
    expect(await provenAt(user.id)).toBeNull()

    const proven = await buildChanged()
    await undo(proven.undoLink.token)
    expect(await provenAt(proven.user.id)).not.toBeNull()
  })

  test('the link removes the password, second factor and providers of later date, and requires a new password', async () => {
    const provider = await startProvider([callbackOf('acme')])
    const { id: providerId } = await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
    const link = (user: Json) =>
      service.deps.db('user_identities').insert({
        ...{ id: randomUUID(), user_id: user.id, provider_id: providerId, subject: randomUUID() },
        created_at: service.deps.clock(),
      })
    const { user, tokens, email, link: changeLink } = await buildChanging()
    service.advance(1)
    // Linked after the change was asked for, and before it was confirmed.
    await link(user)
    await confirm(changeLink.token, { password: PASSWORD })
    const thief = (await service.login(email, app.code)).body
    await enableTwoFactor(service, thief.access_token)
    const passwords = { current_password: PASSWORD, new_password: 'the password of a thief' }
    const token = thief.access_token
    expect((await service.call('POST', '/auth/password/change', { token, body: passwords })).status).toBe(200)
    const { token: undoing } = await mailbox.take(user.email, /was changed/)
    expect((await undo(undoing)).status).toBe(200)
    for (const password of [PASSWORD, passwords.new_password])
      expectError(await service.login(user.email, app.code, { password }), 'invalid_credentials')
    expect(await show(user.id)).toMatchObject({ email: user.email, two_factor: false, identities: [] })
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(0)
    const [event] = await auditEvents(service, { event: 'credentials.removed', user_id: user.id })
    expect(event.details).toEqual({ password: true, two_factor: true, passkeys: 0, identities: 1 })
    expectError(await refresh(tokens.refresh_token), 'invalid_refresh_token')

    const reset = await mailbox.take(user.email, /^Set a new password/)
    const body = { token: reset.token, password: 'the password of the owner' }
    expect((await service.call('POST', '/auth/password/reset', { body })).status).toBe(204)
    expect((await service.login(user.email, app.code, { password: body.password })).status).toBe(200)
  })

  test('the link keeps the second factor that was there before the change', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    await markVerified(service, user.id)
    const phone = await enableTwoFactor(service, token)
    service.advance(30)
    const email = someEmail()
    expect((await change(token, { email, password: PASSWORD, two_factor_code: phone.code() })).status).toBe(202)
    await confirm((await mailbox.take(email)).token, { password: PASSWORD })
    await undo((await mailbox.take(user.email, /was changed/)).token)
    service.advance(30)
    const lost = await auditEvents(service, { event: 'credentials.removed', user_id: user.id })
    expect(lost.map(({ details }) => details)).toEqual([{ password: true, two_factor: false, passkeys: 0, identities: 0 }])
    const password = 'a password that no thief knows'
    const { token: reset } = await mailbox.take(user.email, /^Set a new password/)
    await service.call('POST', '/auth/password/reset', { body: { token: reset, password } })
    expect((await service.login(user.email, app.code, { password })).body).toEqual({ requires_2fa: true })
    expect((await service.login(user.email, app.code, { password, two_factor_code: phone.code() })).status).toBe(200)
  })
})

describe("the deletion of one's own account", () => {
  const remove = (token: string, body: Json = {}, at = service) => at.call('DELETE', '/auth/me', { token, body })

  test("the deletion needs the password, even right after a login, does what an admin's does, and is mailed", async () => {
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    const organization = await buildOrganization(service)
    await service.admin('PUT', `/admin/organizations/${organization.id}/members/${user.id}`, {
      body: { role_codes: ['org_member'] },
    })
    for (const wait of [0, aged]) {
      service.advance(wait)
      expectError(await remove(token), 'fresh_login_required')
    }
    expectError(await remove(token, { password: 'a wrong one' }), 'invalid_credentials')
    expect((await remove(token, { password: PASSWORD })).status).toBe(204)
    expectError(await me(token), 'token_revoked')
    expectError(await refresh(refresh_token), 'invalid_refresh_token')
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
    expect(await show(user.id)).toMatchObject({ status: 'deleted', roles: [], organizations: [], apps: [{ status: 'revoked' }] })
    const feed = await service.deps.db('revocations').where({ user_id: user.id, app_id: null })
    expect(feed).not.toHaveLength(0)
    const [event] = await auditEvents(service, { event: 'user.deleted', user_id: user.id })
    expect(event).toMatchObject({ actor_type: 'user', actor_id: user.id })
    expect((await mailbox.take(user.email, /was deleted/)).text).toMatch(/from\s127\.0\.0\.1/)
    expect((await service.register(user.email, app.code)).status).toBe(201)
  })

  test('the last system_admin cannot delete their account, and one of two concurrent deletions is refused', async () => {
    const service = await buildService()
    const place = await buildApp(service, { auto_grant_on_signup: true })
    const first = (await service.login(ADMIN_EMAIL, 'authctl')).body
    expectError(await remove(first.access_token, { password: PASSWORD }, service), 'last_system_admin')
    const { user } = await buildUser(service, place)
    await markVerified(service, user.id)
    await assignRole(service, user.id, 'system_admin')
    const second = (await service.login(user.email, 'authctl')).body
    const replies = await atOnce(2, (index) => remove([first, second][index]!.access_token, { password: PASSWORD }, service))
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 409])
  })

  test('one of ten concurrent calls deletes the account', async () => {
    const { user, access_token } = await buildUser(service, app)
    const replies = await atOnce(10, () => remove(access_token, { password: PASSWORD }))
    expect(replies.filter(({ status }) => status === 204)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 204) expectError(reply, 'token_revoked')
    expect(await auditEvents(service, { event: 'user.deleted', user_id: user.id })).toHaveLength(1)
  })

  describe('the deletion of an account without a password', () => {
    const confirmDeletion = (token: string) => service.call('POST', '/auth/me/delete/confirm', { body: { token } })
    const ask = async (token: string, user: Json): Promise<Mail> => {
      const { status, body } = await remove(token)
      expect([status, body]).toEqual([202, {}])
      return mailbox.take(user.email, /^Delete your account/)
    }

    test('the deletion is confirmed once by a mailed link, within an hour', async () => {
      const { user, access_token: token } = await buildPasswordless()
      const first = await ask(token, user)
      const mail = await ask(token, user)
      expect(mail.links).toEqual([`http://localhost:4000/delete-account?token=${mail.token}`])
      expectError(await confirmDeletion(first.token), 'invalid_token')
      expect((await me(token)).status).toBe(200)
      const replies = await atOnce(10, () => confirmDeletion(mail.token))
      expect(replies.filter(({ status }) => status === 204)).toHaveLength(1)
      expect((await show(user.id)).status).toBe('deleted')
      expectError(await me(token), 'token_revoked')
      await mailbox.take(user.email, /was deleted/)

      const late = await buildPasswordless()
      const lateMail = await ask(late.access_token, late.user)
      service.advance(3_600)
      expectError(await confirmDeletion(lateMail.token), 'invalid_token')
      expectError(await remove(late.access_token), 'token_expired')
    })

    test('the deletion needs a login within ten minutes, and is dropped by a logout everywhere', async () => {
      const { user, access_token: token, refresh_token } = await buildPasswordless()
      const mail = await ask(token, user)
      service.advance(aged)
      expectError(await remove(token), 'fresh_login_required')
      await service.call('POST', '/auth/logout-all', { token: (await refresh(refresh_token)).body.access_token })
      expectError(await confirmDeletion(mail.token), 'invalid_token')
      expect((await show(user.id)).status).toBe('active')
    })

    test('the deletion has a page of the service, and the last system_admin is refused', async () => {
      const { user, access_token: token } = await buildPasswordless()
      const mail = await ask(token, user)
      const read = await fetch(`${service.url}/delete-account?token=${mail.token}`)
      expect(await read.text()).toContain(user.email)
      const done = await fetch(`${service.url}/delete-account`, {
        method: 'POST',
        body: new URLSearchParams({ token: mail.token }),
      })
      expect([done.status, await done.text()]).toEqual([200, expect.stringContaining('Your account is deleted')])
      expect((await show(user.id)).status).toBe('deleted')

      const { service: alone, mailbox: mails } = await buildMailingService()
      await alone.admin('GET', '/admin/apps')
      await alone.deps.db('users').where({ email: ADMIN_EMAIL }).update({ password_hash: null })
      await alone.call('POST', '/auth/magic-link', { body: { email: ADMIN_EMAIL, app_code: 'authctl' } })
      const link = await mails.take(ADMIN_EMAIL)
      const admin = (await alone.call('POST', '/auth/magic-link/consume', { body: { token: link.token } })).body
      expect((await remove(admin.access_token, {}, alone)).status).toBe(202)
      const body = { token: (await mails.take(ADMIN_EMAIL, /^Delete/)).token }
      expectError(await alone.call('POST', '/auth/me/delete/confirm', { body }), 'last_system_admin')
    })

    test('the deletion is refused in a session without an app, since its mail would have no link target', async () => {
      const service = await buildService({ AUTH_ALLOW_BASE_USER_LOGIN: 'true' })
      const { user } = await buildUser(service, await buildApp(service))
      const { body } = await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD } })
      await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
      expectError(await remove(body.access_token, {}, service), 'app_code_required')
    })
  })
})

test('wrong credentials lock the session after as many attempts as at a login, and calls per user are limited', async () => {
  const limited = await buildService({ AUTH_RATE_LIMIT_USER: '2/60', AUTH_LOCKOUT_THRESHOLD: '2' })
  const place = await buildApp(limited, { auto_grant_on_signup: true })
  for (const [method, path, extra] of [
    ['POST', '/auth/email/change', { email: someEmail() }],
    ['DELETE', '/auth/me', {}],
  ] as const) {
    const ask = (token: string, body: Json) => limited.call(method, path, { token, body: { ...extra, ...body } })
    const coded = await buildUser(limited, place)
    const phone = await enableTwoFactor(limited, coded.access_token)
    const body = { password: PASSWORD, two_factor_code: phone.wrongCode() }
    // Turning on the second factor has used part of the limit.
    await limited.deps.db('rate_limits').delete()
    expectError(await ask(coded.access_token, body), 'invalid_two_factor_code', path)
    const { user, access_token: token } = await buildUser(limited, place)
    for (let count = 0; count < 2; count += 1) expectError(await ask(token, { password: 'a guess' }), 'invalid_credentials', path)
    expectError(await ask(token, { password: PASSWORD }), 'rate_limited', path)
    limited.advance(61)
    expectError(await ask(token, { password: PASSWORD }), 'account_locked', path)
    // Strangers count elsewhere.
    const { access_token: own } = (await limited.login(user.email, place.code)).body
    await limited.deps.db('rate_limits').delete()
    for (let count = 0; count < 2; count += 1) await limited.login(user.email, place.code, { password: 'a guess' })
    expectError(await limited.login(user.email, place.code), 'account_locked')
    expect((await ask(own, { password: PASSWORD })).status, path).toBeLessThan(300)
  }
})

test('a link to a new address allows no more guesses than a login', async () => {
  const { user, link } = await buildChanging()
  for (let count = 0; count < 10; count += 1) await service.login(user.email, app.code, { password: 'a guess' })
  expectError(await confirm(link.token, { password: PASSWORD }), 'account_locked')
  expect((await show(user.id)).email).toBe(user.email)
})
