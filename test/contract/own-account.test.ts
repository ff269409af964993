// What users change in their own account besides names and password: the e-mail address, and deleting the account.
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { assignRole, buildOrganization } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { auditEvents, markVerified } from '../support/rows.ts'
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

/** A user who has asked for another address. */
async function buildChanging(): Promise<Changing> {
  const { user, ...tokens } = await buildUser(service, app)
  await mailbox.take(user.email)
  const email = someEmail()
  expect((await change(tokens.access_token, { email })).status).toBe(202)
  return { user, tokens, email, link: await mailbox.take(email) }
}

async function buildChanged(): Promise<Changing & { undoLink: Mail }> {
  const changing = await buildChanging()
  expect((await confirm(changing.link.token)).status).toBe(200)
  const tokens = (await refresh(changing.tokens.refresh_token)).body
  return { ...changing, tokens, undoLink: await mailbox.take(changing.user.email, /was changed/) }
}

describe('another e-mail address', () => {
  test('is asked for with a proof of identity', async () => {
    const { access_token: token, user } = await buildUser(service, app)
    service.advance(aged)
    const email = someEmail()
    expectError(await change(token, { email }), 'fresh_login_required')
    expectError(await change(token, { email, password: 'a wrong one' }), 'invalid_credentials')
    await allSent(service)
    expect(mailbox.mailsTo(email)).toEqual([])
    expect((await change(token, { email, password: PASSWORD })).status).toBe(202)
    await mailbox.take(email)
    expect(await auditEvents(service, { event: 'email.change_requested', user_id: user.id })).toHaveLength(1)
  })

  test('needs a code where a second factor is active', async () => {
    const { access_token: token } = await buildUser(service, app)
    const phone = await enableTwoFactor(service, token)
    service.advance(aged)
    const body = { email: someEmail(), password: PASSWORD }
    expectError(await change(token, body), 'fresh_login_required')
    expect((await change(token, { ...body, two_factor_code: phone.code() })).status).toBe(202)
  })

  test('is the account’s once the link that was mailed to it is opened, and not before; sessions go on, access tokens do not', async () => {
    const { user, tokens, email, link } = await buildChanging()
    expect(link.links[0]).toMatch(/^http:\/\/127\.0\.0\.1:4000\/confirm-email\?token=gmt_/)
    expect(link.text).toMatch(/Address: 127\.0\.0\.1/)
    expect((await show(user.id)).email).toBe(user.email)
    const confirmed = await confirm(link.token)
    expect([confirmed.status, confirmed.body]).toEqual([200, { user: { ...user, email, email_verified: true } }])
    expectError(await confirm(link.token), 'invalid_token')
    expectError(await service.call('GET', '/auth/me', { token: tokens.access_token }), 'token_revoked')
    const { status, body } = await refresh(tokens.refresh_token)
    expect([status, claimsOf(body.access_token).email]).toEqual([200, email])
    expect((await service.login(email, app.code)).status).toBe(200)
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
    const [event] = await auditEvents(service, { event: 'user.updated', user_id: user.id })
    expect(event.details).toMatchObject({ before: { email: user.email }, after: { email } })
  })

  test('kills links and device tokens of the old one', async () => {
    const { user, tokens } = await buildUser(service, app).then(({ user, ...tokens }) => ({ user, tokens }))
    const verification = await mailbox.take(user.email)
    await service.call('POST', '/auth/password/forgot', { body: { email: user.email, app_code: app.code } })
    const reset = await mailbox.take(user.email)
    const email = someEmail()
    await change(tokens.access_token, { email })
    expect((await confirm((await mailbox.take(email)).token)).status).toBe(200)
    expectError(await service.call('POST', '/auth/email/verify', { body: { token: verification.token } }), 'invalid_token')
    const body = { token: reset.token, password: 'one of a stranger' }
    expectError(await service.call('POST', '/auth/password/reset', { body }), 'invalid_token')
  })

  test('of somebody else is told to nobody at first, and refused when the link is opened', async () => {
    const other = (await buildUser(service, app)).user
    await mailbox.take(other.email)
    const { access_token: token, user } = await buildUser(service, app)
    expect((await change(token, { email: other.email })).status).toBe(202)
    const link = await mailbox.take(other.email)
    const refused = await confirm(link.token)
    expectError(refused, 'email_exists_in_pool')
    expect(JSON.stringify(refused.body)).not.toContain(other.id)
    expect((await show(user.id)).email).toBe(user.email)
    // The link was not used up: it works once the address is free.
    await service.admin('DELETE', `/admin/users/${other.id}`)
    expect((await confirm(link.token)).status).toBe(200)
  })

  test('is none that the account has, nor one that is no address', async () => {
    const { access_token: token, user } = await buildUser(service, app)
    expect(faultsOf(await change(token, { email: user.email.toUpperCase() }))).toEqual(['email: invalid_value'])
    expect(faultsOf(await change(token, { email: 'nobody' }))).toEqual(['email: invalid_value'])
    expect(faultsOf(await change(token, { email: someEmail(), app_code: 'x' }))).toEqual(['app_code: unknown_field'])
  })

  test('of twenty confirmations at once, and of two users for one address, one passes', async () => {
    const { link } = await buildChanging()
    const replies = await atOnce(20, () => confirm(link.token))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)

    const email = someEmail()
    const links: Mail[] = []
    for (let count = 0; count < 2; count += 1) {
      await change((await buildUser(service, app)).access_token, { email })
      links.push(await mailbox.take(email))
    }
    const rivals = await atOnce(2, (index) => confirm(links[index]!.token))
    expect(rivals.map(({ status }) => status).sort()).toEqual([200, 409])
  })

  test('is dead when an admin changed the address, after 24 hours, and after a newer one', async () => {
    const [moved, old, twice] = [await buildChanging(), await buildChanging(), await buildChanging()]
    await service.admin('PATCH', `/admin/users/${moved.user.id}`, { body: { email: someEmail() } })
    expectError(await confirm(moved.link.token), 'invalid_token')
    const newer = someEmail()
    await change(twice.tokens.access_token, { email: newer })
    await mailbox.take(newer)
    expectError(await confirm(twice.link.token), 'invalid_token')
    service.advance(24 * 3_600)
    expectError(await confirm(old.link.token), 'invalid_token')
  })

  test('opens an app that asks for verified addresses with the password or a bearer, and not by the link alone', async () => {
    const alone = await buildChanged()
    expectError(await service.login(alone.email, asking.code), 'email_unverified')
    const byPassword = await buildChanging()
    expectError(await confirm(byPassword.link.token, { password: 'a guess' }), 'invalid_credentials')
    await confirm(byPassword.link.token, { password: PASSWORD })
    expect((await service.login(byPassword.email, asking.code)).status).toBe(200)
    const byBearer = await buildChanging()
    await confirm(byBearer.link.token, {}, byBearer.tokens.access_token)
    expect((await service.login(byBearer.email, asking.code)).status).toBe(200)
  })

  test('has pages of the service: one to confirm it, and one to take it back', async () => {
    const { user, email, link } = await buildChanging()
    const send = (path: string, token: string) =>
      fetch(`${service.url}${path}`, { method: 'POST', body: new URLSearchParams({ token, password: PASSWORD }) })
    expect(await (await fetch(`${service.url}/confirm-email?token=${link.token}`)).text()).toContain(email)
    expect((await send('/confirm-email', link.token)).status).toBe(200)
    expect((await show(user.id)).email).toBe(email)
    const { token } = await mailbox.take(user.email, /was changed/)
    expect(await (await fetch(`${service.url}/undo-email-change?token=${token}`)).text()).toContain(user.email)
    expect((await send('/undo-email-change', token)).status).toBe(200)
    expect((await show(user.id)).email).toBe(user.email)
  })

  test('is not for a session without an app, whose mail would lead nowhere', async () => {
    const service = await buildService({ AUTH_ALLOW_BASE_USER_LOGIN: 'true' })
    const { user } = await buildUser(service, await buildApp(service))
    const { body } = await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD } })
    const asked = await service.call('POST', '/auth/email/change', { token: body.access_token, body: { email: someEmail() } })
    expectError(asked, 'app_code_required')
  })
})

describe('the link to the old address', () => {
  test('takes the change back and ends every session, for 72 hours, also where the app is inactive by then', async () => {
    const place = await buildApp(service, { auto_grant_on_signup: true })
    const { user, access_token: token } = await buildUser(service, place)
    await mailbox.take(user.email)
    const email = someEmail()
    await change(token, { email })
    await confirm((await mailbox.take(email)).token)
    await service.admin('PATCH', `/admin/apps/${place.id}`, { body: { status: 'inactive' } })
    const mail = await mailbox.take(user.email, /was changed/)
    expect(mail.links).toEqual([`http://127.0.0.1:4000/undo-email-change?token=${mail.token}`])
    service.advance(72 * 3_600 - 30)
    const undone = await undo(mail.token)
    expect([undone.status, undone.body.user.email]).toEqual([200, user.email])
    expectError(await undo(mail.token), 'invalid_token')

    const late = await buildChanged()
    service.advance(72 * 3_600)
    expectError(await undo(late.undoLink.token), 'invalid_token')
  })

  test('ends the sessions of whoever changed it, and audits it', async () => {
    const { user, tokens, email, undoLink } = await buildChanged()
    const { body: thief } = await service.login(email, app.code)
    expect((await undo(undoLink.token)).status).toBe(200)
    for (const { access_token, refresh_token } of [tokens, thief]) {
      expectError(await me(access_token), 'token_revoked')
      expectError(await refresh(refresh_token), 'invalid_refresh_token')
    }
    expect((await service.login(user.email, app.code)).status).toBe(200)
    expect(await auditEvents(service, { event: 'email.change_undone', user_id: user.id })).toHaveLength(1)
  })

  test('is good after any number of further changes, and kills the links that those have sent', async () => {
    const { user, tokens, email: second, undoLink: first } = await buildChanged()
    const third = someEmail()
    service.advance(1)
    await change(tokens.access_token, { email: third })
    await confirm((await mailbox.take(third)).token)
    const later = await mailbox.take(second, /was changed/)
    const fourth = someEmail()
    await change((await refresh(tokens.refresh_token)).body.access_token, { email: fourth })
    const pending = await mailbox.take(fourth)
    // Also after the later change was undone.
    expect((await undo(later.token)).body.user.email).toBe(second)
    expect((await undo(first.token)).body.user.email).toBe(user.email)
    for (const { token } of [first, later]) expectError(await undo(token), 'invalid_token')
    expectError(await confirm(pending.token), 'invalid_token')
  })

  test('finds the old address free, whoever has registered it meanwhile without proving it', async () => {
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

  test('brings back what was known of the address: the click of a stranger opens no app that asks for verified ones', async () => {
    const planted = await buildChanged()
    await undo(planted.undoLink.token)
    expectError(await service.login(planted.user.email, asking.code), 'email_unverified')

    const { user, access_token: token } = await buildUser(service, app)
    await markVerified(service, user.id)
    const email = someEmail()
    await change(token, { email })
    await confirm((await mailbox.take(email)).token)
    await undo((await mailbox.take(user.email, /was changed/)).token)
    expect((await service.login(user.email, asking.code)).status).toBe(200)
  })
})

describe('the end of the own account', () => {
  const remove = (token: string, body: Json = {}, at = service) => at.call('DELETE', '/auth/me', { token, body })

  test('needs a proof of identity, and is what an admin’s delete is; a mail tells of it', async () => {
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    const organization = await buildOrganization(service)
    await service.admin('PUT', `/admin/organizations/${organization.id}/members/${user.id}`, {
      body: { role_codes: ['org_member'] },
    })
    service.advance(aged)
    expectError(await remove(token), 'fresh_login_required')
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
    expect((await mailbox.take(user.email, /was deleted/)).text).toMatch(/Address: 127\.0\.0\.1/)
    expect((await service.register(user.email, app.code)).status).toBe(201)
  })

  test('is refused to the last system_admin, and of two who go at once one stays', async () => {
    const service = await buildService()
    const place = await buildApp(service, { auto_grant_on_signup: true })
    const first = (await service.login(ADMIN_EMAIL, 'authctl')).body
    expectError(await remove(first.access_token, { password: PASSWORD }, service), 'last_system_admin')
    const { user } = await buildUser(service, place)
    await markVerified(service, user.id)
    await assignRole(service, user.id, 'system_admin')
    const second = (await service.login(user.email, 'authctl')).body
    const replies = await atOnce(2, (index) => remove([first, second][index]!.access_token, {}, service))
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 409])
  })

  test('of ten calls at once one deletes', async () => {
    const { user, access_token } = await buildUser(service, app)
    const replies = await atOnce(10, () => remove(access_token))
    expect(replies.filter(({ status }) => status === 204)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 204) expectError(reply, 'token_revoked')
    expect(await auditEvents(service, { event: 'user.deleted', user_id: user.id })).toHaveLength(1)
  })
})

test('guesses at the credentials are counted: as many as at a login lock the account, and a user has a limit of calls', async () => {
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
    for (let count = 0; count < 2; count += 1)
      expectError(await limited.login(user.email, place.code, { password: 'a guess' }), 'invalid_credentials')
    expectError(await ask(token, { password: PASSWORD }), 'account_locked', path)
    await ask(token, { password: PASSWORD })
    expectError(await ask(token, { password: PASSWORD }), 'rate_limited', path)
  }
})

test('a link to a new address takes no guesses beyond those of a login', async () => {
  const { user, link } = await buildChanging()
  for (let count = 0; count < 10; count += 1) await service.login(user.email, app.code, { password: 'a guess' })
  expectError(await confirm(link.token, { password: PASSWORD }), 'account_locked')
  expect((await show(user.id)).email).toBe(user.email)
})
