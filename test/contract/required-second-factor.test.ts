// What a demand of a second factor means for accounts that are just made, for invitations, browsers that are trusted, apps that link
// one another, and codes on their way. `required-second-factor-doors.test.ts` has each way to sign in.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrateDatabase } from '../../packages/server/src/db/migrate.ts'
import { Authenticator, askedIn } from '../support/authenticator.ts'
import { testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { expectError } from '../support/expect-reply.ts'
import { assignRole, buildInvitation, buildOrganization, buildRole } from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import {
  arrive,
  buildSsoProvider,
  callbackOf,
  exchange as exchangeAtProvider,
  REDIRECT_URL,
  startProvider,
} from '../support/provider.ts'
import { rawCall } from '../support/raw-http.ts'
import { auditEvents, countRows, isInvitationSpent, markVerified } from '../support/rows.ts'
import { startInstance } from '../support/server-instance.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { askFor, exchange, signInOnPage, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor, totpAt } from '../support/totp.ts'

const service = serviceFixture({}, { frozen: true })
const provider = fixture(() => startProvider([callbackOf('acme')], onFileEnd))
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
})
const open = { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL] }
const lax = appFixture(service, open)
const strict = appFixture(service, { ...open, require_two_factor: 'everyone', trust_device_days: 7 })
const forAdmins = appFixture(service, { ...open, require_two_factor: 'admins' })
const urlOf = (app: Json) => `http://localhost:4000/account/two-factor?app=${app.code}`
const setPolicy = (app: Json, body: Json) => service.admin('PATCH', `/admin/apps/${app.id}`, { body })

async function withPasskey(email: string): Promise<Authenticator> {
  const visitor = visit(service)
  const device = new Authenticator('http://localhost:4000')
  const page = await visitor.get(`/account/passkeys?app=${lax.code}`)
  const account = await visitor.send(page, 'Sign in', { email, password: PASSWORD })
  const added = await visitor.send(account, 'Add a passkey', { passkey: device.create(askedIn(account)!), name: 'Laptop' })
  expect(added.html).toContain('Laptop')
  return device
}

describe('a registration at an app that requires a second factor', () => {
  test('the registration creates the account, gives no token, and names the page for enrolment', async () => {
    const email = someEmail()
    const reply = await service.register(email, strict.code)
    expect(reply.status).toBe(201)
    expect(reply.body).toMatchObject({ created: true, access: 'unenrolled', enrollment_url: urlOf(strict), user: { email } })
    expect(reply.body).not.toHaveProperty('access_token')
    const { id } = reply.body.user
    expect(await countRows(service, 'sessions', { user_id: id })).toBe(0)
    expect(await countRows(service, 'user_apps', { user_id: id, app_id: strict.id, status: 'active' })).toBe(1)
    const refused = await service.login(email, strict.code)
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'two_factor_enrollment_required', enrollment_url: urlOf(strict) },
    })
  })

  test('the registration is unchanged if the app requires a second factor only of admins', async () => {
    const reply = await service.register(someEmail(), forAdmins.code)
    expect(reply.body).toMatchObject({ access: 'granted', access_token: expect.any(String) })
    expect(reply.body).not.toHaveProperty('enrollment_url')
  })

  test('a registration through a provider creates and links the account, and spends the code', async () => {
    const subject = provider.addAccount({ email: someEmail(), email_verified: true })
    const arrived = await arrive(service, { provider, code: 'acme', app: strict, subject })
    const reply = await exchangeAtProvider(service, arrived)
    expect(reply).toMatchObject({ status: 403, body: { code: 'two_factor_enrollment_required', enrollment_url: urlOf(strict) } })
    const [identity] = await service.deps.db('user_identities').where({ subject })
    expect(await countRows(service, 'sessions', { user_id: identity.user_id })).toBe(0)
    expect(await auditEvents(service, { event: 'user.registered', user_id: identity.user_id })).toHaveLength(1)
    const [failed] = await auditEvents(service, { event: 'login.failed', user_id: identity.user_id })
    expect(failed.reason).toBe('two_factor_enrollment_required')
    expectError(await exchangeAtProvider(service, arrived), 'invalid_sso_code')
  })
})

describe('an invitation to an app that requires a second factor', () => {
  const fields = (token: string, more: Record<string, string>) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    chunks: [new URLSearchParams({ token, password: PASSWORD, ...more }).toString()],
  })
  const accept = (token: string, more: Record<string, string>) =>
    rawCall(service.url, 'POST', '/accept-invitation', fields(token, more))
  const inviteTo = async (app: Json) =>
    buildInvitation(service, { organizationId: (await buildOrganization(service)).id, appCode: app.code })

  test('the invitation stays unspent for an account without a second factor, and is accepted with one', async () => {
    const token = await inviteTo(strict)
    const { user, access_token } = await buildUser(service, lax)
    const refused = await accept(token, { email: user.email })
    expect(refused.status).toBe(403)
    expect(refused.body).toContain('asks for a second factor, and this account has none')
    expect(await isInvitationSpent(service, token)).toBe(false)
    const phone = await enableTwoFactor(service, access_token)
    expect((await accept(token, { email: user.email, two_factor_code: phone.code() })).status).toBe(200)
    expect(await isInvitationSpent(service, token)).toBe(true)
  })

  test('the invitation tells a user who has only a passkey where to go', async () => {
    const token = await inviteTo(strict)
    const { user } = await buildUser(service, lax)
    await withPasskey(user.email)
    const refused = await accept(token, { email: user.email })
    expect(refused.status).toBe(401)
    expect(refused.body).toContain('asks for the passkey of this account')
    expect(await isInvitationSpent(service, token)).toBe(false)
  })

  test('the invitation creates a new account, which has to enrol at its sign-in', async () => {
    const token = await inviteTo(strict)
    const email = someEmail()
    const made = await accept(token, { email })
    expect(made.status).toBe(200)
    expect(made.body).toContain('asks for a second factor. Sign in there to set one up.')
    expect(await isInvitationSpent(service, token)).toBe(true)
    expect((await service.login(email, strict.code)).body.code).toBe('two_factor_enrollment_required')
  })

  test('the sign-in page does not accept the invitation before a second factor was shown', async () => {
    const token = await inviteTo(strict)
    const { user } = await buildUser(service, lax)
    const page = await signInOnPage(visit(service), askFor(strict, { invite: token }), user.email)
    expect(page.title).toBe('You need a second factor')
    expect(await isInvitationSpent(service, token)).toBe(false)
  })
})

describe('a trusted browser at an app that requires a second factor', () => {
  async function trusted(app: Json) {
    const { user, access_token } = await buildUser(service, lax)
    const phone = await enableTwoFactor(service, access_token)
    const visitor = visit(service)
    const page = await signInOnPage(visitor, askFor(app), user.email)
    await visitor.send(page, 'Continue', { two_factor_code: phone.code(), trust: 'yes' })
    service.advance(86_400)
    visitor.cookies.delete('gatehouse_session')
    return { user, visitor, phone }
  }
  const enter = async (app: Json, visitor: ReturnType<typeof visit>, email: string) => {
    const asked = askFor(app)
    const page = await signInOnPage(visitor, asked, email)
    const arrival =
      page.app || !page.forms.some(({ buttons }) => buttons.has('Continue')) ? page : await visitor.send(page, 'Continue')
    return arrival.app ? exchange(service, app, asked, arrival.app) : undefined
  }

  test('a trusted browser meets the demand if the app allows it, also at a refresh, with one factor in the tokens', async () => {
    const { user, visitor } = await trusted(strict)
    const entered = await enter(strict, visitor, user.email)
    expect(entered?.status).toBe(200)
    expect(claimsOf(entered!.body.access_token).amr).toEqual(['pwd'])
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: entered!.body.refresh_token } })
    expect(refreshed.status).toBe(200)
    // An app that allows it no more asks for the code.
    await setPolicy(strict, { trust_device_days: 0 })
    const late = await service.call('POST', '/auth/refresh', { body: { refresh_token: refreshed.body.refresh_token } })
    expect(late).toMatchObject({ status: 401, body: { code: 'two_factor_required' } })
    await setPolicy(strict, { trust_device_days: 7 })
  })

  test('a trusted browser never meets the demand of an app that administers the service', async () => {
    const of = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl,office' })
    const office = await of.admin('POST', '/admin/apps', {
      body: { code: 'office', name: 'Office', ...open, trust_device_days: 7 },
    })
    const { user, access_token } = await buildUser(of, office.body)
    const phone = await enableTwoFactor(of, access_token)
    const tokens = (await of.login(user.email, 'office', { two_factor_code: phone.code() })).body
    await of.deps
      .db('sessions')
      .where({ id: claimsOf(tokens.access_token).sid })
      .update({ second_factor: 'trusted', amr: 'pwd' })
    await of.admin('PATCH', '/admin/apps/office', { body: { require_two_factor: 'everyone' } })
    const refreshed = await of.call('POST', '/auth/refresh', { body: { refresh_token: tokens.refresh_token } })
    expect(refreshed).toMatchObject({ status: 401, body: { code: 'two_factor_required' } })
  })
})

describe('a code for an app that begins to require a second factor', () => {
  const onItsWay = async () => {
    const app = await buildApp(service, open)
    const { user, access_token } = await buildUser(service, app)
    const visitor = visit(service)
    const asked = askFor(app)
    const arrival = await signInOnPage(visitor, asked, user.email)
    expect(arrival.app?.searchParams.has('code')).toBe(true)
    return { app, user, token: access_token, asked, arrival }
  }

  test('the code opens nothing, and the app gets the page for enrolment', async () => {
    const { app, asked, arrival } = await onItsWay()
    await setPolicy(app, { require_two_factor: 'everyone' })
    const { status, body } = await exchange(service, app, asked, arrival.app)
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant', code: 'two_factor_enrollment_required', enrollment_url: urlOf(app) },
    })
  })

  test('the code opens nothing for a user who has a passkey by now', async () => {
    const { app, user, asked, arrival } = await onItsWay()
    await withPasskey(user.email)
    await setPolicy(app, { require_two_factor: 'everyone' })
    const { status, body } = await exchange(service, app, asked, arrival.app)
    expect({ status, body }).toMatchObject({ status: 400, body: { error: 'invalid_grant', code: 'invalid_grant' } })
  })
})

test('an app that links to a strict app admits, and the strict app asks for itself', async () => {
  const linking = await buildApp(service, { ...open, linked_app_codes: [strict.code] })
  const { user, access_token } = await buildUser(service, linking)
  expect(access_token).toEqual(expect.any(String))
  expect(await countRows(service, 'user_apps', { user_id: user.id, app_id: strict.id, status: 'active' })).toBe(1)
  expect((await service.login(user.email, strict.code)).body.code).toBe('two_factor_enrollment_required')
})

test('a person signed in elsewhere does not enter silently, and is asked for what is missing', async () => {
  const { user, access_token } = await buildUser(service, lax)
  const visitor = visit(service)
  await signInOnPage(visitor, askFor(lax), user.email)
  expect((await visitor.get(askFor(strict).path)).title).toBe('You need a second factor')
  const { app } = await visitor.get(askFor(strict, { prompt: 'none' }).path)
  expect(app?.searchParams.get('error')).toBe('login_required')
  // The app knows somebody whom it let in before.
  await service.admin('POST', `/admin/users/${user.id}/apps/${strict.id}`, { body: {} })
  const known = (await visitor.get(askFor(strict, { prompt: 'none' }).path)).app
  expect(known?.searchParams.get('error')).toBe('interaction_required')
  await enableTwoFactor(service, access_token)
  expect((await visitor.get(askFor(strict).path)).title).toBe('Sign in')
})

test('a user who gains a role must show a second factor at the next refresh of an app for admins', async () => {
  const { user, refresh_token } = await buildUser(service, forAdmins)
  const first = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
  expect(first.status).toBe(200)
  await assignRole(service, user.id, await buildRole(service, 'global'))
  const second = await service.call('POST', '/auth/refresh', { body: { refresh_token: first.body.refresh_token } })
  expect(second.body).toMatchObject({ code: 'two_factor_enrollment_required', enrollment_url: urlOf(forAdmins) })
})

describe('the setting require_two_factor', () => {
  test('the setting is audited with its former value', async () => {
    const app = await buildApp(service)
    await setPolicy(app, { require_two_factor: 'admins', require_two_factor_from: '2027-01-31T01:00:00+01:00' })
    const [event] = await auditEvents(service, { event: 'app.updated', app_id: app.id })
    expect(event.details).toEqual({
      before: { require_two_factor: 'off', require_two_factor_from: null },
      after: { require_two_factor: 'admins', require_two_factor_from: '2027-01-31T00:00:00.000Z' },
    })
  })

  test.each([
    [{ require_two_factor: 'all' }, 'require_two_factor'],
    [{ require_two_factor: true }, 'require_two_factor'],
    [{ require_two_factor_from: '2027-01-31' }, 'require_two_factor_from'],
    [{ require_two_factor_from: 1_800_000_000 }, 'require_two_factor_from'],
  ])('the setting %j is refused', async (body, path) => {
    const reply = await setPolicy(await buildApp(service), body)
    expectError(reply, 'validation_failed')
    expect(reply.body.errors[0].path).toBe(path)
  })

  test('the setting is refused if the service has no pages, since nobody could enrol', async () => {
    const of = await buildService({ PUBLIC_URL: 'https://example.com/login' })
    const app = await buildApp(of)
    const reply = await of.admin('PATCH', `/admin/apps/${app.id}`, { body: { require_two_factor: 'everyone' } })
    expectError(reply, 'validation_failed')
    expect(reply.body.detail).toContain('PUBLIC_URL has a path')
    expect((await of.admin('PATCH', `/admin/apps/${app.id}`, { body: { require_two_factor: 'off' } })).status).toBe(200)
  })
})

test('the trace of a token shows what its session has shown, and the answer to a refresh', async () => {
  const app = await buildApp(service, open)
  const { user, refresh_token, access_token } = await buildUser(service, app)
  const trace = async (token: string) => (await service.admin('POST', '/admin/tokens/trace', { body: { token } })).body.session
  expect(await trace(refresh_token)).toMatchObject({ second_factor: null, refused_by_policy: null })
  await setPolicy(app, { require_two_factor: 'everyone' })
  expect(await trace(refresh_token)).toMatchObject({ refused_by_policy: 'two_factor_enrollment_required' })
  const phone = await enableTwoFactor(service, access_token)
  expect(await trace(access_token)).toMatchObject({ second_factor: null, refused_by_policy: 'two_factor_required' })
  const shown = (await service.login(user.email, app.code, { two_factor_code: phone.code() })).body
  expect(await trace(shown.refresh_token)).toMatchObject({ second_factor: 'shown', refused_by_policy: null })
})

describe('explain at an app that requires a second factor', () => {
  const explain = async (email: string, app: Json) =>
    (await service.admin('GET', `/admin/explain?${new URLSearchParams({ email, app: app.code })}`)).body
  const stepOf = ({ steps }: Json, name: string) => steps.find((step: Json) => step.name === name)

  test('explain names the step that refuses a user without a second factor, the page, and later refusals', async () => {
    const { user } = await buildUser(service, lax)
    const told = await explain(user.email, strict)
    expect(told.outcome).toBe('two_factor_enrollment_required')
    expect(told.steps.at(-1)).toMatchObject({ name: 'two_factor', ok: false, code: 'two_factor_enrollment_required' })
    expect(told.steps.at(-1).detail).toContain(urlOf(strict))
    expect(told.steps.at(-1).detail).toContain(`authctl app update ${strict.code} --require-two-factor off`)
    const closed = await buildApp(service, { require_two_factor: 'everyone', allowed_redirect_urls: [REDIRECT_URL] })
    expect((await explain(user.email, closed)).further_refusals).toMatchObject([{ code: 'app_access_denied' }])
  })

  test('explain assumes the code of a user who has one, and says that a passkey needs the page', async () => {
    const { user, access_token } = await buildUser(service, lax)
    await withPasskey(user.email)
    const byPasskey = await explain(user.email, strict)
    expect(byPasskey.outcome).toBe('two_factor_required')
    expect(byPasskey.steps.at(-1)).toMatchObject({ name: 'two_factor', detail: expect.stringContaining('only the sign-in page') })
    await enableTwoFactor(service, access_token)
    expect(await explain(user.email, strict)).toMatchObject({ outcome: 'granted', further_refusals: [] })
    // Nothing of that stays.
    expect((await service.admin('GET', `/admin/apps/${strict.id}`)).body.require_two_factor).toBe('everyone')
  })

  test('explain reports a requirement that begins later', async () => {
    const from = new Date(service.deps.clock() + 86_400_000).toISOString()
    const app = await buildApp(service, { ...open, require_two_factor: 'everyone', require_two_factor_from: from })
    const { user } = await buildUser(service, app)
    await markVerified(service, user.id)
    const told = await explain(user.email, app)
    expect(told.outcome).toBe('granted')
    expect(stepOf(told, 'two_factor').detail).toBe(`Off. ${app.code} demands a second factor of everyone from ${from} on`)
  })
})

test('the enrolment page signs in, sets up a second factor, and opens the app', async () => {
  const { user } = await buildUser(service, lax)
  const refused = await service.login(user.email, strict.code)
  const visitor = visit(service)
  const { pathname, search } = new URL(refused.body.enrollment_url)
  const first = await visitor.get(pathname + search)
  const page = await visitor.send(first, 'Sign in', { email: user.email, password: PASSWORD })
  const setUp = await visitor.send(page, 'Set up a second factor')
  const secret = /id="secret"[^>]*>([A-Z2-7 ]+)</.exec(setUp.html)?.[1]?.replaceAll(' ', '') ?? ''
  const { values } = setUp.forms.find(({ values }) => values.step === 'activate')!
  const reply = await visitor.post(`${service.url}/account/two-factor`, { ...values, code: totpAt(secret, service.deps.clock()) })
  expect((await visitor.get(reply.headers.get('location') ?? '')).html).toContain('recovery-codes')
  service.advance(30)
  const two_factor_code = totpAt(secret, service.deps.clock())
  expect((await service.login(user.email, strict.code, { two_factor_code })).status).toBe(200)
})

describe('a provider trusted for the second factor', () => {
  const trust = (trusted_for_two_factor: boolean) =>
    service.admin('PATCH', '/admin/sso-providers/acme', { body: { trusted_for_two_factor } })
  const comeIn = async (app: Json, subject: string, more: Json = {}) =>
    exchangeAtProvider(service, await arrive(service, { provider, code: 'acme', app, subject }), more)

  test('a trusted provider meets the demand for a user without a factor, until it is no longer trusted', async () => {
    const subject = provider.addAccount({ email: someEmail(), email_verified: true })
    await trust(true)
    const { status, body } = await comeIn(strict, subject)
    expect(status).toBe(200)
    expect(claimsOf(body.access_token).amr).toEqual([])
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect(refreshed.status).toBe(200)
    // A password of the same person is not the provider.
    await trust(false)
    const late = await service.call('POST', '/auth/refresh', { body: { refresh_token: refreshed.body.refresh_token } })
    expect(late.body.code).toBe('two_factor_enrollment_required')
  })

  test('a trusted provider counts only if the person signed in there after its date', async () => {
    await trust(true)
    const app = await buildApp(service, { ...open, require_two_factor: 'everyone' })
    const subject = provider.addAccount({ email: someEmail(), email_verified: true })
    const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
    const tooOld = { status: 401, body: { code: 'two_factor_required', detail: 'Sign in again, at the provider' } }
    const direct = (await comeIn(app, subject)).body
    const visitor = visit(service)
    const asked = askFor(app, { provider: 'acme' })
    const pathOf = ({ pathname, search }: URL) => `${pathname}${search}`
    const { app: away } = await visitor.get(asked.path)
    const callback = await visitor.get(pathOf(await provider.logIn(away!.href, subject)))
    expect((await visitor.get(pathOf(callback.app!))).app?.searchParams.has('code')).toBe(true)
    service.advance(60)
    const date = new Date(service.deps.clock()).toISOString()
    service.advance(60)
    // An app session that begins now, of a sign-in that is older than the date which is only written after it.
    const later = askFor(app)
    const tokens = (await exchange(service, app, later, (await visitor.get(later.path)).app!)).body
    const onItsWay = (await visitor.get(later.path)).app!
    await setPolicy(app, { require_two_factor_from: date })
    expect(await refresh(direct.refresh_token)).toMatchObject(tooOld)
    expect(await refresh(tokens.refresh_token)).toMatchObject(tooOld)
    expect((await exchange(service, app, later, onItsWay)).body.error).toBe('invalid_grant')
    expect((await visitor.get(askFor(app).path)).title).toBe('Sign in')
    const again = (await comeIn(app, subject)).body
    expect((await refresh(again.refresh_token)).status).toBe(200)
    await trust(false)
  })

  test('a trusted provider does not replace a factor that the user owns', async () => {
    await trust(true)
    const subject = provider.addAccount({ email: someEmail(), email_verified: true })
    const entered = (await comeIn(strict, subject)).body
    const loose = (await comeIn(lax, subject)).body
    const phone = await enableTwoFactor(service, loose.access_token)
    expect((await comeIn(strict, subject)).body).toEqual({ requires_2fa: true })
    const late = await service.call('POST', '/auth/refresh', { body: { refresh_token: entered.refresh_token } })
    expect(late).toMatchObject({ status: 401, body: { code: 'two_factor_required' } })
    expect((await comeIn(strict, subject, { two_factor_code: phone.code() })).status).toBe(200)
    await trust(false)
  })

  test('a trusted provider never meets the demand of an app that administers the service', async () => {
    await trust(true)
    const { body } = await service.admin('PATCH', '/admin/apps/authctl', {
      body: { require_two_factor: 'everyone', allowed_redirect_urls: [REDIRECT_URL] },
    })
    expect(body.require_two_factor).toBe('everyone')
    const subject = provider.addAccount({ email: someEmail(), email_verified: true })
    const { user } = (await comeIn(lax, subject)).body
    await service.admin('POST', `/admin/users/${user.id}/apps/authctl`, { body: {} })
    expect((await comeIn({ code: 'authctl' }, subject)).body.code).toBe('two_factor_enrollment_required')
    await service.admin('PATCH', '/admin/apps/authctl', { body: { require_two_factor: 'off' } })
    await trust(false)
  })
})

describe('the report of users without a second factor', () => {
  const report = async (app: Json, query = '') => service.admin('GET', `/admin/apps/${app.code}/without-second-factor${query}`)

  test('the report lists users of the app without second factor or passkey, newest first, in pages', async () => {
    const app = await buildApp(service, open)
    const [none, coded, keyed, gone, admin] = await Promise.all([1, 2, 3, 4, 5].map(() => buildUser(service, app)))
    await enableTwoFactor(service, coded!.access_token)
    await withPasskey(keyed!.user.email)
    await service.admin('DELETE', `/admin/users/${gone!.user.id}/apps/${app.id}`)
    const role = await buildRole(service, 'global')
    await assignRole(service, admin!.user.id, role)
    const wanted = [none!.user.id, admin!.user.id].sort().reverse()
    const { body } = await report(app)
    expect(body.items.map(({ user_id }: Json) => user_id)).toEqual(wanted)
    const first = await report(app, '?limit=1')
    const second = await report(app, `?limit=1&cursor=${first.body.next_cursor}`)
    expect([...first.body.items, ...second.body.items].map(({ user_id }: Json) => user_id)).toEqual(wanted)
    expect(second.body.next_cursor).toBeNull()
    expect((await report(app, '?of=admins')).body.items).toEqual([
      { user_id: admin!.user.id, email: admin!.user.email, namespace: 'default', roles: ['base_user', role].sort() },
    ])
  })

  test('the report counts holders of system_admin at authctl, and refuses unknown values', async () => {
    const { body } = await report({ code: 'authctl' })
    expect(body.items.map(({ email }: Json) => email)).toContain('admin@example.com')
    expectError(await report({ code: 'nothing' }), 'not_found')
    expectError(await report({ code: 'authctl' }, '?of=some'), 'validation_failed')
  })
})

test.each([
  [true, 'https://login.example.com', 'everyone'],
  [true, 'https://example.com/login', 'off'],
  [false, 'https://login.example.com', 'off'],
])(
  'with production %s at %s, authctl begins with %s in a new database, and a database in use keeps its value',
  async (production, publicUrl, begins) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-new-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const config = { ...service.deps.config, databaseUrl: `sqlite:${join(folder, 'new.db')}`, production, publicUrl }
    const db = createKnex(config)
    onTestFinished(() => db.destroy())
    const settingOfAuthctl = async () => (await db('apps').where({ code: 'authctl' }).first()).require_two_factor
    await migrateDatabase({ config, db, clock: Date.now })
    expect(await settingOfAuthctl()).toBe(begins)
    await db('apps').update({ require_two_factor: 'off' })
    await migrateDatabase({ config: { ...config, production: true }, db, clock: Date.now })
    expect(await settingOfAuthctl()).toBe('off')
  },
)

test('the recovery in docs/administer/require-second-factor.md admits an admin without a second factor', async () => {
  const database = await createDatabase(testDatabase())
  onTestFinished(() => database.drop())
  const admin = { email: 'locked-out@example.com', password: 'a long password of an admin' }
  const start = () =>
    startInstance({
      DATABASE_URL: database.url,
      AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email,
      AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
    })
  const logIn = async ({ url }: { url: string }) => {
    const body = JSON.stringify({ ...admin, app_code: 'authctl' })
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body })
    return { status: reply.status, body: (await reply.json()) as Json }
  }
  const first = await start()
  const { access_token } = (await logIn(first)).body
  const demanded = await fetch(`${first.url}/api/v1/admin/apps/authctl`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
    body: '{"require_two_factor":"everyone"}',
  })
  expect(demanded.status).toBe(200)
  expect(await logIn(first)).toMatchObject({ status: 403, body: { code: 'two_factor_enrollment_required' } })
  const docs = readFileSync(join(import.meta.dirname, '../../docs/administer/require-second-factor.md'), 'utf8')
  const [, sql = ''] = /`(UPDATE apps [^`]+)`/.exec(docs) ?? []
  const db = createKnex({ ...service.deps.config, databaseUrl: database.url })
  onTestFinished(() => db.destroy())
  await db.raw(sql)
  const restarted = await start()
  expect((await logIn(restarted)).status).toBe(200)
})
