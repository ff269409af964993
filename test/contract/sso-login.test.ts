import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { issueMailToken } from '../../packages/server/src/resources/mail/mail-tokens.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { whsec } from '../support/app-fixtures.ts'
import { expectError, faultsOf } from '../support/expect-reply.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import {
  type Arrived,
  answerOf,
  arrive,
  beginSso,
  buildSsoProvider,
  callbackOf,
  comeBack,
  exchange,
  get,
  REDIRECT_URL,
  startProvider,
} from '../support/provider.ts'
import { auditEvents, countRows, countWrites, markVerified as markUserVerified } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, type Reply, someEmail } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const provider = fixture(() => startProvider([callbackOf('acme'), callbackOf('twin')], onFileEnd))
const service = serviceFixture()
beforeAll(async () => {
  for (const code of ['acme', 'twin', 'closing']) await buildSsoProvider(service, code, { issuer: provider.issuer })
})

const ssoApp = (settings: Json = {}) =>
  buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL], ...settings })
const verified = (email: string, more: Json = {}) => provider.addAccount({ email, email_verified: true, ...more })

function come(app: Json, subject: string, code = 'acme'): Promise<Arrived> {
  return arrive(service, { provider, code, app, subject })
}

async function logIn(app: Json, subject: string, extra: Json = {}): Promise<Reply> {
  return exchange(service, await come(app, subject), extra)
}

const markVerified = (id: string) => markUserVerified(service, id)
const change = (app: Json, body: Json) => service.admin('PATCH', `/admin/apps/${app.id}`, { body })
const changeProvider = (code: string, body: Json) => service.admin('PATCH', `/admin/sso-providers/${code}`, { body })
const identitiesOf = async (token: string) => (await service.call('GET', '/auth/identities', { token })).body.items

describe('a first login', () => {
  test('a first login registers the user like a registration, without a password', async () => {
    const webhooks = [{ name: 'crm', url: 'http://127.0.0.1:9/hook', secret: whsec }]
    const app = await ssoApp({ registration_namespace: 'staff', read_namespaces: ['partners'], webhooks })
    const email = someEmail()
    const subject = verified(email.toUpperCase(), { given_name: ' Ada ', family_name: 'Lovelace' })
    const reply = await logIn(app, subject)
    expect(reply.status).toBe(200)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.body).toMatchObject({
      token_type: 'Bearer',
      user: {
        email,
        email_verified: true,
        first_name: 'Ada',
        last_name: 'Lovelace',
        namespace: 'staff',
        namespaces: ['staff', 'partners'],
        status: 'active',
      },
      app: { id: app.id, code: app.code },
      organization: null,
    })
    const { id } = reply.body.user
    expect(claimsOf(reply.body.access_token)).toMatchObject({ uid: id, app_code: app.code, roles: ['base_user'] })
    const [session] = (await service.call('GET', '/auth/sessions', { token: reply.body.access_token })).body.items
    expect(session.auth_method).toBe('acme')

    const events = (await auditEvents(service, { user_id: id })).map(({ event }) => event)
    expect(events).toEqual(['user.registered', 'identity.linked', 'grant.created', 'login.success'])
    const [webhook] = await service.deps.db('outbox').where({ user_id: id, kind: 'webhook' })
    expect(JSON.parse(webhook.payload)).toMatchObject({ event: 'user.registered', user: { id, email }, registration: {} })
    expect(await countRows(service, 'outbox', { user_id: id, kind: 'mail' })).toBe(0)
    expectError(await service.login(email, app.code), 'invalid_credentials')
  })

  test('the second login finds the same user, whatever address the provider names by then', async () => {
    const app = await ssoApp()
    const email = someEmail()
    const subject = verified(email)
    const first = await logIn(app, subject)
    for (const claims of [{ email: someEmail(), email_verified: false }, {}]) {
      provider.accounts.set(subject, claims)
      const again = await logIn(app, subject)
      expect(again.body.user).toEqual(first.body.user)
    }
    expect(await countRows(service, 'user_identities', { subject })).toBe(1)
  })

  test('the tokens of a first login refresh like any others, and the session can be ended', async () => {
    const { body } = await logIn(await ssoApp(), verified(someEmail()))
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect(refreshed.status).toBe(200)
    expect((await service.call('POST', '/auth/logout-all', { token: refreshed.body.access_token })).status).toBe(204)
    expectError(await service.call('GET', '/auth/me', { token: body.access_token }), 'token_revoked')
  })

  test('an address that the provider has not verified is unverified here, and a mail to verify it is sent', async () => {
    for (const email_verified of [false, undefined, 'false', 1]) {
      const email = someEmail()
      const { body } = await logIn(await ssoApp(), provider.addAccount({ email, email_verified }))
      expect(body.user).toMatchObject({ email, email_verified: false })
      expect(await countRows(service, 'outbox', { user_id: body.user.id, name: 'verify_email' })).toBe(1)
    }
  })

  test.each([{}, { email: '' }, { email: 'nobody' }, { email: 7 }])(
    'a first login without an e-mail address (%j) is refused',
    async (claims) => {
      const app = await ssoApp()
      const before = await countWrites(service)
      const arrived = await come(app, provider.addAccount({ ...claims, email_verified: true }))
      expectError(await exchange(service, arrived), 'sso_email_missing')
      expect(await countWrites(service)).toEqual(before)
    },
  )

  test('a first login follows the policy of the app, and a refusal writes nothing', async () => {
    const refusals: [Json, string][] = [
      [{ sign_up: 'closed' }, 'sign_up_closed'],
      [{ sign_up: 'invitation' }, 'sign_up_closed'],
      [{ allowed_email_domains: ['corp.example'] }, 'email_domain_not_allowed'],
      [{ allowed_auth_methods: ['password', 'twin'] }, 'auth_method_not_allowed'],
    ]
    for (const [policy, code] of refusals) {
      const app = await ssoApp(policy)
      const before = await countWrites(service)
      const arrived = await come(app, verified(someEmail()))
      expectError(await exchange(service, arrived), code as 'sign_up_closed')
      expect(await countWrites(service)).toEqual(before)
      const [event] = await auditEvents(service, { event: 'login.failed', app_id: app.id })
      expect(event.reason).toBe(code)
      await change(app, { sign_up: 'open', allowed_email_domains: [], allowed_auth_methods: ['acme'] })
      expect((await exchange(service, arrived)).status).toBe(200)
    }
  })

  test('a first login at an app that grants nothing leaves a user to whom an admin can grant access', async () => {
    const app = await ssoApp({ auto_grant_on_signup: false })
    const email = someEmail()
    const subject = verified(email)
    expectError(await logIn(app, subject), 'app_access_denied')
    const [user] = (await service.admin('GET', `/admin/users?email=${email}`)).body.items
    expect(await countRows(service, 'sessions', { user_id: user.id })).toBe(0)
    expectError(await logIn(app, subject), 'app_access_denied')
    await service.admin('POST', `/admin/users/${user.id}/apps/${app.id}`)
    expect((await logIn(app, subject)).body.user.id).toBe(user.id)
  })

  test('twenty concurrent first logins make one user and twenty sessions', async () => {
    const app = await ssoApp()
    const subject = verified(someEmail())
    const arrived = await Promise.all(Array.from({ length: 20 }, () => come(app, subject)))
    const replies = await Promise.all(arrived.map((each) => exchange(service, each)))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    const ids = new Set(replies.map(({ body }) => body.user.id))
    expect(ids.size).toBe(1)
    const [user_id] = ids
    expect(await countRows(service, 'user_identities', { subject })).toBe(1)
    expect(await countRows(service, 'sessions', { user_id })).toBe(20)
    expect(await auditEvents(service, { event: 'user.registered', user_id })).toHaveLength(1)
  })

  test('a first login and a concurrent registration of the same address make one user', async () => {
    const app = await ssoApp()
    for (let round = 0; round < 5; round += 1) {
      const email = someEmail()
      const arrived = await come(app, verified(email))
      const [sso, registration] = await Promise.all([exchange(service, arrived), service.register(email, app.code)])
      expect(sso.status).toBe(200)
      expect([201, 409]).toContain(registration.status)
      expect(await countRows(service, 'users', { email })).toBe(1)
    }
  })
})

describe('linking', () => {
  test('a verified address links its user, who keeps password and sessions', async () => {
    const app = await ssoApp()
    const { user, access_token: token } = await buildUser(service, app)
    await markVerified(user.id)
    const reply = await logIn(app, verified(user.email))
    expect(reply.body.user.id).toBe(user.id)
    expect((await service.login(user.email, app.code)).status).toBe(200)
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
    expect(await identitiesOf(token)).toEqual([{ id: expect.any(String), provider: 'acme', created_at: expect.any(String) }])
  })

  test('an unverified address never links a user', async () => {
    const app = await ssoApp()
    const { user } = await buildUser(service, app)
    await markVerified(user.id)
    const arrived = await come(app, provider.addAccount({ email: user.email, email_verified: false }))
    expectError(await exchange(service, arrived), 'link_required')
    expect(await countRows(service, 'user_identities', { user_id: user.id })).toBe(0)
  })

  test('linking an account whose address was never verified removes what it was opened with', async () => {
    const app = await ssoApp()
    const registered = await buildUser(service, app)
    const { email, id } = registered.user
    const squatter = provider.addAccount({ email, email_verified: false })
    await enableTwoFactor(service, registered.access_token)
    const [{ id: provider_id }] = await service.deps.db('sso_providers').where({ code: 'acme' })
    const row = { id: randomUUID(), user_id: id, provider_id, subject: squatter, created_at: 1 }
    await service.deps.db('user_identities').insert(row)
    const waiting = await come(app, squatter)

    const reply = await logIn(app, verified(email))
    expect(reply.status).toBe(200)
    expect(reply.body.user).toMatchObject({ id, email_verified: true })
    expectError(await service.login(email, app.code), 'invalid_credentials')
    expectError(await service.call('GET', '/auth/me', { token: registered.access_token }), 'token_revoked')
    const refresh = { body: { refresh_token: registered.refresh_token } }
    expectError(await service.call('POST', '/auth/refresh', refresh), 'invalid_refresh_token')
    expectError(await exchange(service, waiting), 'invalid_sso_code')
    expectError(await logIn(app, squatter), 'link_required')
    const me = await service.call('GET', '/auth/me', { token: reply.body.access_token })
    expect(me.body.two_factor).toBe(false)
    const [lost] = await auditEvents(service, { event: 'credentials.removed', user_id: id })
    expect(lost.details).toMatchObject({ password: true, two_factor: true, identities: 1 })
  })

  test('linking an account that an operator made removes nothing, asks for the second factor, and verifies the address', async () => {
    const app = await ssoApp()
    const email = someEmail()
    await service.admin('POST', '/admin/users', { body: { email, password: PASSWORD } })
    const { access_token: token, user } = (await service.login(email, app.code)).body
    const authenticator = await enableTwoFactor(service, token)
    const subject = verified(email)
    expect((await logIn(app, subject)).body).toEqual({ requires_2fa: true })
    const reply = await logIn(app, subject, { two_factor_code: authenticator.code() })
    expect([reply.status, reply.body.user]).toMatchObject([200, { id: user.id, email_verified: true }])
    expect((await service.call('GET', '/auth/me', { token })).body.two_factor).toBe(true)
    expect(await auditEvents(service, { event: 'credentials.removed', user_id: user.id })).toEqual([])
  })

  test('a password reset and a first magic link unlink the provider of an unproven account', async () => {
    const app = await ssoApp()
    for (const purpose of ['reset_password', 'magic_link'] as const) {
      const email = someEmail()
      const squatter = provider.addAccount({ email, email_verified: false })
      const { user, access_token: token } = (await logIn(app, squatter)).body
      const order = { userId: user.id, purpose, email, app, redirectUrl: null }
      const issued = await issueMailToken(service.deps, order)
      const body = { token: 'token' in issued && issued.token }
      if (purpose === 'magic_link') expect((await service.call('POST', '/auth/magic-link/consume', { body })).status).toBe(200)
      else await service.call('POST', '/auth/password/reset', { body: { ...body, password: 'one of the owner alone' } })
      expectError(await service.call('GET', '/auth/me', { token }), 'token_revoked')
      expectError(await logIn(app, squatter), 'link_required')
    }
  })

  test('twenty concurrent logins link an account once', async () => {
    const app = await ssoApp()
    const { user } = await buildUser(service, app)
    await markVerified(user.id)
    const subject = verified(user.email)
    const arrived = await Promise.all(Array.from({ length: 20 }, () => come(app, subject)))
    const replies = await Promise.all(arrived.map((each) => exchange(service, each)))
    expect(new Set(replies.map(({ body }) => body.user?.id))).toEqual(new Set([user.id]))
    expect(await countRows(service, 'user_identities', { user_id: user.id })).toBe(1)
  })

  test('one subject at two providers is two identities, and one user may have both', async () => {
    const app = await ssoApp()
    const email = someEmail()
    const subject = verified(email)
    const { user } = (await logIn(app, subject)).body
    const viaTwin = await exchange(service, await come(app, subject, 'twin'))
    expect(viaTwin.body.user.id).toBe(user.id)
    expect((await identitiesOf(viaTwin.body.access_token)).map((item: Json) => item.provider)).toEqual(['twin', 'acme'])

    provider.accounts.set(subject, { email: someEmail(), email_verified: true })
    const stranger = await ssoApp({ registration_namespace: 'elsewhere' })
    const other = (await exchange(service, await come(stranger, subject, 'twin'))).body.user
    expect(other.id).not.toBe(user.id)
  })
})

describe('pools', () => {
  test('a subject is a user of its own in each set of pools, as an e-mail address is', async () => {
    const email = someEmail()
    const subject = verified(email)
    const [shop, wiki] = [await ssoApp({ registration_namespace: 'pool-a' }), await ssoApp({ registration_namespace: 'pool-b' })]
    const inShop = (await logIn(shop, subject)).body.user
    const inWiki = (await logIn(wiki, subject)).body.user
    expect(inWiki.id).not.toBe(inShop.id)
    expect((await logIn(shop, subject)).body.user.id).toBe(inShop.id)

    const both = await ssoApp({ registration_namespace: 'pool-b', read_namespaces: ['pool-a'] })
    expect((await logIn(both, subject)).body.user.id).toBe(inWiki.id)
    await service.admin('DELETE', `/admin/users/${inWiki.id}`)
    expect((await logIn(both, subject)).body.user.id).toBe(inShop.id)
  })

  test('a login does not find a user of a pool that the app does not read', async () => {
    const email = someEmail()
    const elsewhere = await ssoApp({ registration_namespace: 'far-away' })
    const { user } = await buildUser(service, elsewhere, { email })
    await markVerified(user.id)
    const { body } = await logIn(await ssoApp(), verified(email))
    expect(body.user.id).not.toBe(user.id)
    expect(await countRows(service, 'user_identities', { user_id: user.id })).toBe(0)
  })
})

describe('the gate', () => {
  test('a login asks for the second factor, and leaves its code unspent until then', async () => {
    const app = await ssoApp()
    const registered = await buildUser(service, app)
    await markVerified(registered.user.id)
    const phone = await enableTwoFactor(service, registered.access_token)
    const arrived = await come(app, verified(registered.user.email))
    const challenge = await exchange(service, arrived)
    expect({ status: challenge.status, body: challenge.body }).toEqual({ status: 401, body: { requires_2fa: true } })
    expectError(await exchange(service, arrived, { two_factor_code: phone.wrongCode() }), 'invalid_two_factor_code')
    expect(await countRows(service, 'user_identities', { user_id: registered.user.id })).toBe(0)
    expect((await exchange(service, arrived, { two_factor_code: phone.code() })).status).toBe(200)
    expectError(await exchange(service, arrived, { two_factor_code: phone.recoveryCodes[0] }), 'invalid_sso_code')
  })

  test('a user whose password strangers have locked can sign in, and the password stays locked', async () => {
    const app = await ssoApp()
    const { user } = await buildUser(service, app)
    await markVerified(user.id)
    for (let guess = 0; guess < 20; guess += 1) await service.login(user.email, app.code, { password: 'not this password' })
    const entered = await logIn(app, verified(user.email))
    expect(entered.status).toBe(200)
    expectError(await service.login(user.email, app.code), 'rate_limited')
    const { device_token } = entered.body
    expect((await service.login(user.email, app.code, { device_token })).status).toBe(200)
  })

  test('wrong second-factor codes lock the account for logins with a provider and with a password', async () => {
    const app = await ssoApp()
    const registered = await buildUser(service, app)
    await markVerified(registered.user.id)
    const phone = await enableTwoFactor(service, registered.access_token)
    const arrived = await come(app, verified(registered.user.email))
    for (let guess = 0; guess < 10; guess += 1) {
      expectError(await exchange(service, arrived, { two_factor_code: phone.wrongCode() }), 'invalid_two_factor_code')
    }
    expectError(await exchange(service, arrived, { two_factor_code: phone.code() }), 'account_locked')
    expectError(await service.login(registered.user.email, app.code), 'account_locked')
  })

  test('a suspended user is refused and not linked', async () => {
    const app = await ssoApp()
    const { user } = await buildUser(service, app)
    await markVerified(user.id)
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
    expectError(await logIn(app, verified(user.email)), 'account_suspended')
    expect(await countRows(service, 'user_identities', { user_id: user.id })).toBe(0)
  })

  test('a login with a provider leaves a revoked grant revoked', async () => {
    const app = await ssoApp()
    const subject = verified(someEmail())
    const { user } = (await logIn(app, subject)).body
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${app.id}`)
    expectError(await logIn(app, subject), 'app_access_denied')
  })

  test('the subject of an erased user becomes a new user at the next login', async () => {
    const app = await ssoApp()
    const subject = verified(someEmail())
    const { user } = (await logIn(app, subject)).body
    await service.admin('DELETE', `/admin/users/${user.id}?erase=true`)
    expect(await countRows(service, 'user_identities', { subject })).toBe(0)
    expect((await logIn(app, subject)).body.user.id).not.toBe(user.id)
  })

  test('an app that was deactivated meanwhile is refused at each step', async () => {
    const app = await ssoApp()
    const subject = verified(someEmail())
    const begun = await beginSso(service, 'acme', app)
    const back = await provider.logIn(begun.reply.headers.get('location')!, subject)
    const arrived = await come(app, subject)
    await change(app, { status: 'inactive' })
    expectError((await beginSso(service, 'acme', app)).reply, 'app_inactive')
    expectError(await comeBack(service, back), 'app_inactive')
    expectError(await exchange(service, arrived), 'app_inactive')
  })

  test('a provider that was disabled meanwhile is refused at each step, and its users are unharmed', async () => {
    const code = 'closing'
    const closing = await startProvider([callbackOf(code)])
    await changeProvider(code, { issuer: closing.issuer })
    const app = await ssoApp()
    const subject = closing.addAccount({ email: someEmail(), email_verified: true })
    const on = { provider: closing, code, app, subject }
    const begun = await beginSso(service, code, app)
    const back = await closing.logIn(begun.reply.headers.get('location')!, subject)
    const { access_token: token } = (await exchange(service, await arrive(service, on))).body
    const arrived = await arrive(service, on)
    await changeProvider(code, { enabled: false })
    expectError((await beginSso(service, code, app)).reply, 'sso_provider_disabled')
    expectError(await comeBack(service, back), 'sso_provider_disabled')
    expectError(await exchange(service, arrived), 'sso_provider_disabled')
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
    await changeProvider(code, { enabled: true })
    expect((await exchange(service, arrived)).status).toBe(200)
  })
})

describe('a start', () => {
  test('a start sends the browser to the provider with a state, a nonce and a challenge of ours', async () => {
    const app = await ssoApp()
    const { reply, state } = await beginSso(service, 'acme', app)
    expect(reply.status).toBe(302)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    expect(reply.headers.get('referrer-policy')).toBe('no-referrer')
    expect(reply.headers.get('set-cookie')).toBeNull()
    const sent = answerOf(reply)
    expect(sent).toMatchObject({
      client_id: 'gatehouse',
      response_type: 'code',
      scope: 'openid email profile',
      redirect_uri: callbackOf('acme'),
      code_challenge_method: 'S256',
    })
    for (const word of [sent.state, sent.nonce, sent.code_challenge]) expect(word).toMatch(/^(gss_)?[A-Za-z0-9_-]{43}$/)
    expect(sent.state).not.toBe(state)
    const stored = JSON.stringify(await service.deps.db('sso_logins'))
    for (const word of [sent.state!, sent.nonce!]) expect(stored).not.toContain(word)
  })

  test.each([
    [{ redirect_url: 'https://evil.example.com/' }, 'redirect_url: invalid_value'],
    [{ redirect_url: `${REDIRECT_URL}/` }, 'redirect_url: invalid_value'],
    [{ redirect_url: `${REDIRECT_URL}@evil.example.com` }, 'redirect_url: invalid_value'],
    [{ redirect_url: `${REDIRECT_URL}#fragment` }, 'redirect_url: invalid_value'],
    [{ redirect_url: '//evil.example.com' }, 'redirect_url: invalid_value'],
    [{ redirect_url: 'https://app.example.com/any/../../signed-in' }, 'redirect_url: invalid_value'],
    [{ redirect_url: 'https://app.example.com/any/page?code=mine' }, 'redirect_url: invalid_value'],
    [{ redirect_url: '' }, 'redirect_url: too_short'],
    [{ code_challenge: 'short' }, 'code_challenge: invalid_value'],
    [{ code_challenge_method: 'plain' }, 'code_challenge_method: invalid_value'],
    [{ state: '' }, 'state: too_short'],
    [{ state: 'x'.repeat(501) }, 'state: too_long'],
  ])('a start with %j redirects nowhere', async (query, fault) => {
    const app = await ssoApp({ allowed_redirect_urls: [REDIRECT_URL, 'https://app.example.com/any/*'] })
    const { reply } = await beginSso(service, 'acme', app, query)
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual([fault])
    expect(reply.headers.get('location')).toBeNull()
  })

  test('a start has different errors for an unknown provider, an unknown app and no app', async () => {
    const app = await ssoApp()
    expectError((await beginSso(service, 'nobody', app)).reply, 'not_found')
    expectError((await beginSso(service, 'No Body', app)).reply, 'not_found')
    expectError((await beginSso(service, 'acme', { code: 'no-such-app' })).reply, 'app_not_found')
    expectError((await beginSso(service, 'acme', { code: ' ' })).reply, 'app_code_required')
    expectError(await get(service, `/auth/sso/acme/start?app_code=${app.code}`), 'validation_failed')
  })

  test('an app without allowed redirect URLs has no third-party login', async () => {
    const app = await ssoApp({ allowed_redirect_urls: [] })
    expectError((await beginSso(service, 'acme', app)).reply, 'validation_failed')
  })

  test('redirect URLs with a query or a private scheme come back as they were given', async () => {
    for (const url of ['https://app.example.com/cb?tenant=a%20b', 'com.example.app:/cb']) {
      const app = await ssoApp({ allowed_redirect_urls: [url] })
      const begun = await beginSso(service, 'acme', app, { redirect_url: url, state: 'a b&c' })
      const back = await provider.logIn(begun.reply.headers.get('location')!, verified(someEmail()))
      const reply = await comeBack(service, back)
      expect(reply.headers.get('location')!.startsWith(url.includes('?') ? `${url}&code=` : `${url}?code=`)).toBe(true)
      expect(answerOf(reply)).toMatchObject({ state: 'a b&c' })
    }
  })

  test('starts and exchanges of one IP address are limited', async () => {
    const limited = await buildService({ AUTH_RATE_LIMIT_IP: '2/60' })
    await buildSsoProvider(limited, 'acme', { issuer: provider.issuer })
    const app = await buildApp(limited, { allowed_redirect_urls: [REDIRECT_URL] })
    for (let call = 0; call < 2; call += 1) expect((await beginSso(limited, 'acme', app)).reply.status).toBe(302)
    expectError((await beginSso(limited, 'acme', app)).reply, 'rate_limited')
    expect(await countRows(limited, 'sso_logins')).toBe(2)
    limited.advance(61)
    expect((await beginSso(limited, 'acme', app)).reply.status).toBe(302)
    // The exchange is limited too, like everything that needs no bearer.
    for (let call = 0; call < 2; call += 1) await exchange(limited, { code: 'x', verifier: 'x' })
    expectError(await exchange(limited, { code: 'x', verifier: 'x' }), 'rate_limited')
  })
})

test('an answer at the callback of another provider is refused, even with the same issuer, and is not spent', async () => {
  const { reply } = await beginSso(service, 'acme', await ssoApp())
  const back = await provider.logIn(reply.headers.get('location')!, verified(someEmail()))
  expectError(await get(service, `/auth/sso/twin/callback${back.search}`), 'invalid_sso_state')
  expect(answerOf(await comeBack(service, back)).code).toMatch(/^gsc_/)
})

describe('a code', () => {
  test('one of twenty concurrent exchanges of a code gets the session', async () => {
    const app = await ssoApp()
    const subject = verified(someEmail())
    for (const known of [false, true]) {
      const arrived = await come(app, subject)
      const replies = await Promise.all(Array.from({ length: 20 }, () => exchange(service, arrived)))
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
      for (const reply of replies) if (reply.status !== 200) expectError(reply, 'invalid_sso_code', `known: ${known}`)
    }
    const [user] = await service.deps.db('user_identities').where({ subject })
    expect(await countRows(service, 'sessions', { user_id: user.user_id })).toBe(2)
  })

  test('a code is worthless without its verifier, and a failed try does not spend it', async () => {
    const app = await ssoApp()
    const [arrived, other] = [await come(app, verified(someEmail())), await come(app, verified(someEmail()))]
    for (const verifier of [other.verifier, 'x', `${arrived.verifier} `]) {
      expectError(await exchange(service, { ...arrived, verifier }), 'invalid_sso_code')
    }
    expectError(await exchange(service, { ...arrived, code: 'gsc_unknown' }), 'invalid_sso_code')
    expect((await exchange(service, arrived)).status).toBe(200)
  })

  test('a code is valid for five minutes and a start for ten, and cleanup removes expired ones', async () => {
    const app = await ssoApp()
    const subject = verified(someEmail())
    const arrived = await come(app, subject)
    service.advance(299)
    const late = await beginSso(service, 'acme', app)
    const back = await provider.logIn(late.reply.headers.get('location')!, subject)
    service.advance(2)
    expectError(await exchange(service, arrived), 'invalid_sso_code')
    service.advance(598)
    expectError(await comeBack(service, back), 'invalid_sso_state')
    await removeExpired(service.deps)
    expect(await countRows(service, 'sso_logins')).toBe(0)
  })

  test('a code is stored as a hash, and the answer of the provider is sealed until the exchange', async () => {
    const email = someEmail()
    const arrived = await come(await ssoApp(), verified(email))
    const stored = async () => JSON.stringify(await service.deps.db('sso_logins'))
    expect(await stored()).not.toContain(arrived.code)
    expect(await stored()).not.toContain(email)
    await exchange(service, arrived)
    expect(await service.deps.db('sso_logins').whereNotNull('spent_at').whereNotNull('claims_box')).toEqual([])
  })

  test.each([
    [{ code: undefined }, 'code: required'],
    [{ code_verifier: undefined }, 'code_verifier: required'],
    [{ code: 7 }, 'code: invalid_type'],
    [{ two_factor_code: 123456 }, 'two_factor_code: invalid_type'],
  ])('an exchange with %j is refused', async (body, fault) => {
    const reply = await service.call('POST', '/auth/sso/token', { body: { code: 'a', code_verifier: 'b', ...body } })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual([fault])
  })
})

describe('identities', () => {
  test('a user lists and unlinks their identities, except the last sign-in method', async () => {
    const app = await ssoApp()
    const email = someEmail()
    const subject = verified(email)
    const { user, access_token: token } = (await logIn(app, subject)).body
    const unlink = (id: string) => service.call('DELETE', `/auth/identities/${id}`, { token })
    const [only] = await identitiesOf(token)
    expectError(await unlink(only.id), 'last_sign_in_method')

    await exchange(service, await come(app, subject, 'twin'))
    const [twin, acme] = await identitiesOf(token)
    const replies = await Promise.all([unlink(twin.id), unlink(acme.id)])
    expect(replies.map(({ status }) => status).sort()).toEqual([204, 409])
    expect(await identitiesOf(token)).toHaveLength(1)
    expect(await auditEvents(service, { event: 'identity.unlinked', user_id: user.id })).toHaveLength(1)
    expectError(await unlink(replies[0]!.status === 204 ? twin.id : acme.id), 'not_found')
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })

  test('a user with a password unlinks the last identity, and a later login by verified address links it again', async () => {
    const app = await ssoApp()
    const { user, access_token: token } = await buildUser(service, app)
    await markVerified(user.id)
    const subject = verified(user.email)
    await logIn(app, subject)
    const [{ id }] = await identitiesOf(token)
    expect((await service.call('DELETE', `/auth/identities/${id}`, { token })).status).toBe(204)
    expect(await identitiesOf(token)).toEqual([])
    expect((await logIn(app, subject)).body.user.id).toBe(user.id)
  })

  test('unlinking an identity takes a login of the last ten minutes or the password', async () => {
    const app = await ssoApp()
    const { user, access_token: token } = await buildUser(service, app)
    await markVerified(user.id)
    await logIn(app, verified(user.email))
    const [{ id }] = await identitiesOf(token)
    const unlink = (body?: Json) => service.call('DELETE', `/auth/identities/${id}`, { token, body })
    service.advance(600)
    expectError(await unlink(), 'fresh_login_required')
    expectError(await unlink({ password: 'not the password' }), 'invalid_credentials')
    expect(await identitiesOf(token)).toHaveLength(1)
    expect((await unlink({ password: PASSWORD })).status).toBe(204)
  })

  test('a user cannot unlink the identity of another user', async () => {
    const app = await ssoApp()
    const own = (await logIn(app, verified(someEmail()))).body
    const [{ id }] = await identitiesOf(own.access_token)
    const { access_token: stranger } = await buildUser(service, app)
    expectError(await service.call('DELETE', `/auth/identities/${id}`, { token: stranger }), 'not_found')
    expect(await identitiesOf(own.access_token)).toHaveLength(1)
  })

  test('an admin sees and unlinks the identities of a user, even the last one', async () => {
    const { user } = (await logIn(await ssoApp(), verified(someEmail()))).body
    const path = `/admin/users/${user.id}/identities`
    const { items } = (await service.admin('GET', path)).body
    expect(items).toEqual([{ id: expect.any(String), provider: 'acme', created_at: expect.any(String) }])
    expect((await service.admin('DELETE', `${path}/${items[0].id}`)).status).toBe(204)
    expect((await service.admin('GET', path)).body.items).toEqual([])
    expectError(await service.admin('DELETE', `${path}/${items[0].id}`), 'not_found')
    expectError(await service.admin('GET', `/admin/users/${randomUUID()}/identities`), 'not_found')
  })
})
