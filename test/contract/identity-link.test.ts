// A signed-in user explicitly links an account at a provider, for cases in which an e-mail alone may not link it.
import { createHash, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { assignRole, closeAccount } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import {
  type Arrived,
  answerOf,
  arrive,
  type Begun,
  beginSso,
  buildSsoProvider,
  callbackOf,
  comeBack,
  exchange,
  fullTrust,
  REDIRECT_URL,
  startProvider,
} from '../support/provider.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const provider = fixture(() => startProvider([callbackOf('acme'), callbackOf('narrow')], onFileEnd))
const service = serviceFixture()
let app: Json
beforeAll(async () => {
  for (const code of ['acme', 'narrow']) await buildSsoProvider(service, code, { issuer: provider.issuer })
  app = await ssoApp()
})

const ssoApp = (settings: Json = {}) =>
  buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL], ...settings })
const someone = (email = someEmail()) => provider.addAccount({ email, email_verified: true })
const changeProvider = (body: Json) => service.admin('PATCH', '/admin/sso-providers/narrow', { body })
const changeApp = ({ id }: Json, body: Json) => service.admin('PATCH', `/admin/apps/${id}`, { body })
const identitiesOf = async (token: string) => (await service.call('GET', '/auth/identities', { token })).body.items
const linksOf = (subject: string) => countRows(service, 'user_identities', { subject })

/** Begins a link. Returns what the client keeps, and the reply. */
async function beginLink(token: string, body: Json = {}, on = service): Promise<Begun> {
  const state = randomBytes(16).toString('hex')
  const verifier = randomBytes(32).toString('base64url')
  const code_challenge = createHash('sha256').update(verifier).digest('base64url')
  const link = { provider: 'acme', redirect_url: REDIRECT_URL, code_challenge, state, ...body }
  return { state, verifier, reply: await on.call('POST', '/auth/identities/link', { token, body: link }) }
}

/** Runs a link up to where the provider sends the browser back. */
async function goThere(token: string, subject: string, body: Json = {}): Promise<Begun & { back: URL }> {
  const begun = await beginLink(token, body)
  expect(begun.reply.body).toEqual({ location: expect.stringMatching(/^http/) })
  return { ...begun, back: await provider.logIn(begun.reply.body.location, subject) }
}

/** Runs a link up to its code. */
async function come(token: string, subject: string, body: Json = {}): Promise<Arrived> {
  const { back, state, verifier } = await goThere(token, subject, body)
  const answer = answerOf(await comeBack(service, back))
  expect(answer).toEqual({ code: expect.stringMatching(/^gsc_/), state })
  return { code: answer.code!, verifier }
}

function finish({ code, verifier }: Arrived, token?: string): Promise<Reply> {
  return service.call('POST', '/auth/sso/token', { token, body: { code, code_verifier: verifier } })
}

async function link(token: string, subject: string, body: Json = {}): Promise<Reply> {
  return finish(await come(token, subject, body), token)
}

test('a user refused with link_required signs in another way, links the account, and then signs in with the provider', async () => {
  const { user } = await buildUser(service, app)
  await assignRole(service, user.id, 'system_admin')
  const subject = someone(user.email)
  expectError(await exchange(service, await arrive(service, { provider, code: 'acme', app, subject })), 'link_required')

  const { access_token: token } = (await service.login(user.email, app.code)).body
  const linked = await link(token, subject)
  expect([linked.status, linked.headers.get('cache-control')]).toEqual([200, 'no-store'])
  expect(linked.body).toEqual({ id: expect.any(String), provider: 'acme', created_at: expect.any(String) })
  expect(await identitiesOf(token)).toEqual([linked.body])
  const events = await auditEvents(service, { user_id: user.id, actor_id: user.id })
  expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['identity.link_started', 'identity.linked']))
  expect(await countRows(service, 'outbox', { user_id: user.id, name: 'identity_linked' })).toBe(1)

  const back = await exchange(service, await arrive(service, { provider, code: 'acme', app, subject }))
  expect([back.status, back.body.user.id]).toEqual([200, user.id])
  expect(claimsOf(back.body.access_token).roles).toContain('system_admin')
})

test('the address at the provider does not matter: it verifies nothing, takes over nothing, and may be anybody’s', async () => {
  const { user, access_token: token } = await buildUser(service, app)
  const { user: other } = await buildUser(service, app)
  expect((await link(token, someone(user.email))).status).toBe(200)
  expect((await link(token, someone(other.email))).status).toBe(200)
  const { body } = await service.call('GET', '/auth/me', { token })
  expect(body.user).toMatchObject({ id: user.id, email_verified: false })
  expect((await service.login(user.email, app.code)).status).toBe(200)
  expect((await service.login(other.email, app.code)).status).toBe(200)
})

test('a linked account stays one identity, and an unlinked one can be linked again', async () => {
  const { access_token: token } = await buildUser(service, app)
  const subject = someone()
  const first = await link(token, subject)
  expect((await link(token, subject)).body).toEqual(first.body)
  expect((await service.call('DELETE', `/auth/identities/${first.body.id}`, { token })).status).toBe(204)
  expect((await link(token, subject)).body.id).not.toBe(first.body.id)
})

describe('the code of a link', () => {
  test('the code works for the session that began the link and for no other bearer', async () => {
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    const sameUser = (await service.login(user.email, app.code)).body.access_token
    const { access_token: stranger } = await buildUser(service, app)
    const { access_token: ended, refresh_token: over } = await buildUser(service, app)
    await service.call('POST', '/auth/logout', { body: { refresh_token: over } })
    const account = { name: randomBytes(4).toString('hex'), service: 'notes' }
    const { body: robot } = await service.admin('POST', '/admin/service-accounts', { body: account })
    const claims = claimsOf(token)
    const expired = forgeToken({ ...claims, iat: claims.iat - 900, nbf: claims.iat - 900, exp: claims.iat - 100 })

    const subject = someone()
    const arrived = await come(token, subject)
    expectError(await finish(arrived), 'token_missing')
    expectError(await finish(arrived, 'garbage'), 'token_invalid')
    expectError(await finish(arrived, robot.token), 'token_invalid')
    expectError(await finish(arrived, expired), 'token_expired')
    expectError(await finish(arrived, ended), 'token_revoked')
    expectError(await finish(arrived, sameUser), 'invalid_sso_code')
    expectError(await finish(arrived, stranger), 'invalid_sso_code')
    expect(await linksOf(subject)).toBe(0)
    const failed = await auditEvents(service, { event: 'identity.link_failed', app_id: app.id })
    expect(failed.slice(-2).map(({ user_id, reason }) => [user_id, reason])).toEqual([
      [user.id, 'invalid_sso_code'],
      [claimsOf(stranger).uid, 'invalid_sso_code'],
    ])

    // None of that has used up the code, and a refreshed token belongs to the same session.
    const { body: refreshed } = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expect((await finish(arrived, refreshed.access_token)).status).toBe(200)
  })

  test('the code works only with the verifier of its own link', async () => {
    const { access_token: token } = await buildUser(service, app)
    const subject = someone()
    const [arrived, other] = [await come(token, subject), await come(token, someone())]
    expectError(await finish({ ...arrived, verifier: other.verifier }, token), 'invalid_sso_code')
    expectError(await finish({ ...arrived, verifier: 'guessed' }, token), 'invalid_sso_code')
    expect(await linksOf(subject)).toBe(0)
  })

  test('twenty uses of one code at once link once', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const subject = someone()
    const arrived = await come(token, subject)
    const replies = await Promise.all(Array.from({ length: 20 }, () => finish(arrived, token)))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const reply of replies) if (reply.status !== 200) expectError(reply, 'invalid_sso_code')
    expect(await linksOf(subject)).toBe(1)
    expect(await auditEvents(service, { event: 'identity.linked', user_id: user.id })).toHaveLength(1)
    expectError(await finish(arrived, token), 'invalid_sso_code')
  })

  test('the code gives no tokens, and the code of a login links nobody, with any bearer', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const subject = someone()
    const login = await arrive(service, { provider, code: 'acme', app, subject })
    const { status, body } = await finish(login, token)
    expect([status, body.user.id === user.id]).toEqual([200, false])
    expect(await identitiesOf(token)).toEqual([])
    expect((await link(token, someone())).body).not.toHaveProperty('access_token')
  })

  test('the code dies with its session, as by a change of the password elsewhere', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const subject = someone()
    const arrived = await come(token, subject)
    const owner = (await service.login(user.email, app.code)).body.access_token
    const passwords = { current_password: PASSWORD, new_password: 'another password' }
    expect((await service.call('POST', '/auth/password/change', { token: owner, body: passwords })).status).toBe(200)
    expectError(await finish(arrived, token), 'token_revoked')
    expect(await linksOf(subject)).toBe(0)
  })

  test('the code dies with its user', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const arrived = await come(token, someone())
    await closeAccount(service, user.id, 'deleted')
    expectError(await finish(arrived, token), 'token_revoked')
  })
})

test('the answer to one link under the state of another link or of a login is refused', async () => {
  const { access_token: victim } = await buildUser(service, app)
  const { access_token: attacker } = await buildUser(service, app)
  const [theirs, own] = [await goThere(victim, someone()), await goThere(attacker, someone())]
  const begun = await beginSso(service, 'acme', app)
  const login = await provider.logIn(begun.reply.headers.get('location')!, someone())
  for (const [into, from] of [
    [theirs.back, own.back],
    [own.back, login],
    [login, theirs.back],
  ] as const) {
    const swapped = new URL(into)
    swapped.searchParams.set('code', from.searchParams.get('code')!)
    expect(answerOf(await comeBack(service, swapped))).toMatchObject({ error: 'server_error' })
  }
  expect(await identitiesOf(victim)).toEqual([])
})

describe('an account at the provider that another user is linked with', () => {
  test('the link is refused, and the other user keeps the account', async () => {
    const subject = someone()
    const holder = (await exchange(service, await arrive(service, { provider, code: 'acme', app, subject }))).body.user
    const { user, access_token: token } = await buildUser(service, app)
    const arrived = await come(token, subject)
    expectError(await finish(arrived, token), 'identity_in_use')
    expect(await identitiesOf(token)).toEqual([])
    const [failed] = await auditEvents(service, { event: 'identity.link_failed', user_id: user.id })
    expect(failed.reason).toBe('identity_in_use')
    const again = await exchange(service, await arrive(service, { provider, code: 'acme', app, subject }))
    expect(again.body.user.id).toBe(holder.id)

    await closeAccount(service, holder.id, 'deleted')
    expect((await finish(arrived, token)).status).toBe(200)
  })

  test('one of two users who link the account at once gets it', async () => {
    const subject = someone()
    const tokens = [(await buildUser(service, app)).access_token, (await buildUser(service, app)).access_token]
    const arrived = [await come(tokens[0], subject), await come(tokens[1], subject)]
    const replies = await Promise.all(arrived.map((each, index) => finish(each, tokens[index])))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 409])
    expectError(replies.find(({ status }) => status === 409)!, 'identity_in_use')
    expect(await linksOf(subject)).toBe(1)
  })

  test('two links of one user at once make one identity', async () => {
    const subject = someone()
    const { user, access_token: token } = await buildUser(service, app)
    const other = (await service.login(user.email, app.code)).body.access_token
    const arrived = [await come(token, subject), await come(other, subject)]
    const replies = await Promise.all([finish(arrived[0]!, token), finish(arrived[1]!, other)])
    expect(replies[0]!.body).toEqual(replies[1]!.body)
    expect(await linksOf(subject)).toBe(1)
  })

  test('the account may be linked in other pools, as an address may be used there', async () => {
    const subject = someone()
    await exchange(service, await arrive(service, { provider, code: 'acme', app, subject }))
    const elsewhere = await ssoApp({ registration_namespace: `pool-${randomBytes(4).toString('hex')}` })
    const { access_token: token } = await buildUser(service, elsewhere)
    expect((await link(token, subject)).status).toBe(200)
    expect(await linksOf(subject)).toBe(2)
  })
})

describe('a link that the provider or the app does not allow', () => {
  const begin = async (token: string, body: Json = {}) => (await beginLink(token, { provider: 'narrow', ...body })).reply

  test('a link needs the app in app_codes of the provider, at the start and at the exchange', async () => {
    const { access_token: token } = await buildUser(service, app)
    const subject = someone()
    const arrived = await come(token, subject, { provider: 'narrow' })
    await changeProvider({ app_codes: ['another'] })
    expectError(await begin(token), 'auth_method_not_allowed')
    expectError(await finish(arrived, token), 'auth_method_not_allowed')
    await changeProvider({ enabled: false })
    expectError(await begin(token), 'sso_provider_disabled')
    expectError(await finish(arrived, token), 'sso_provider_disabled')
    expect(await linksOf(subject)).toBe(0)
    await changeProvider({ ...fullTrust, enabled: true })
    expect((await finish(arrived, token)).status).toBe(200)
  })

  test('a link needs the provider in allowed_auth_methods and an active app, at the start and at the exchange', async () => {
    const own = await ssoApp()
    const { access_token: token } = await buildUser(service, own)
    const arrived = await come(token, someone(), { provider: 'narrow' })
    await changeApp(own, { allowed_auth_methods: ['password', 'acme'] })
    expectError(await begin(token), 'auth_method_not_allowed')
    expectError(await finish(arrived, token), 'auth_method_not_allowed')
    await changeApp(own, { allowed_auth_methods: [], status: 'inactive' })
    // The tokens of an app end when it is deactivated, so the link that was begun is lost.
    expectError(await begin(token), 'token_revoked')
    expectError(await finish(arrived, token), 'token_revoked')
    await changeApp(own, { status: 'active' })
    expectError(await finish(arrived, token), 'token_revoked')
  })

  test('a forbidden redirect URL, an unknown provider and a malformed body are refused', async () => {
    const { access_token: token } = await buildUser(service, app)
    expect(faultsOf(await begin(token, { redirect_url: 'https://evil.example.com/' }))).toEqual(['redirect_url: invalid_value'])
    expect(faultsOf(await begin(token, { redirect_url: `${REDIRECT_URL}?code=x` }))).toEqual(['redirect_url: invalid_value'])
    expectError(await begin(token, { provider: 'nobody' }), 'not_found')
    expect(faultsOf(await begin(token, { code_challenge: 'short', state: undefined, app_code: app.code }))).toEqual([
      'app_code: unknown_field',
      'code_challenge: invalid_value',
      'state: required',
    ])
  })

  test('a session without an app is refused, since it has no redirect URLs', async () => {
    const open = await buildService({ AUTH_REQUIRE_APP_CODE: 'false' })
    await buildSsoProvider(open, 'acme', { issuer: provider.issuer })
    const { user } = await buildUser(open, await buildApp(open))
    const { body } = await open.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD } })
    expectError((await beginLink(body.access_token, {}, open)).reply, 'app_code_required')
  })
})

test('a link asks for a login of the last ten minutes or the password, and for a code if a second factor is active', async () => {
  const { access_token: token } = await buildUser(service, app)
  service.advance(600)
  const begin = async (body: Json = {}) => (await beginLink(token, body)).reply
  expectError(await begin(), 'fresh_login_required')
  expectError(await begin({ password: 'not the password' }), 'invalid_credentials')
  expect((await begin({ password: PASSWORD })).status).toBe(200)

  const phone = await enableTwoFactor(service, token)
  expectError(await begin(), 'fresh_login_required')
  expectError(await begin({ password: PASSWORD }), 'fresh_login_required')
  expectError(await begin({ password: PASSWORD, two_factor_code: phone.wrongCode() }), 'invalid_two_factor_code')
  expect((await begin({ password: PASSWORD, two_factor_code: phone.code() })).status).toBe(200)
})
