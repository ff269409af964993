import { beforeAll, describe, expect, test } from 'vitest'
import { expectError } from '../support/expect-reply.ts'
import { buildRole } from '../support/factories.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import {
  arrive,
  beginSso,
  buildSsoProvider,
  callbackOf,
  comeBack,
  exchange,
  fullTrust,
  REDIRECT_URL,
  startProvider,
} from '../support/provider.ts'
import { auditEvents, countRows, countWrites, markVerified } from '../support/rows.ts'
import { ADMIN_EMAIL, buildApp, buildUser, type Json, type Reply, someEmail } from '../support/service.ts'

const provider = fixture(() => startProvider([callbackOf('acme'), callbackOf('narrow'), callbackOf('fresh')], onFileEnd))
const service = serviceFixture()
beforeAll(async () => {
  for (const code of ['acme', 'narrow']) await buildSsoProvider(service, code, { issuer: provider.issuer })
})

const ssoApp = (settings: Json = {}) =>
  buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [REDIRECT_URL], ...settings })
const verified = (email: string) => provider.addAccount({ email, email_verified: true })
const come = (app: Json, subject: string, code = 'acme') => arrive(service, { provider, code, app, subject })
const logIn = async (app: Json, subject: string, code = 'acme') => exchange(service, await come(app, subject, code))
const change = (app: Json, body: Json) => service.admin('PATCH', `/admin/apps/${app.id}`, { body })
const changeProvider = (code: string, body: Json) => service.admin('PATCH', `/admin/sso-providers/${code}`, { body })

/** A user of the app whose address is verified. */
async function buildVerifiedUser(app: Json, email = someEmail()): Promise<Json> {
  const { user } = await buildUser(service, app, { email })
  await markVerified(service, user.id)
  return user
}

/** A refusal leaves no link, no session and no user behind. */
async function expectRefused(app: Json, subject: string, code: Parameters<typeof expectError>[1], via = 'acme'): Promise<Reply> {
  const arrived = await come(app, subject, via)
  const before = await countWrites(service)
  const reply = await exchange(service, arrived)
  expectError(reply, code)
  expect(await countWrites(service)).toEqual(before)
  expect(await countRows(service, 'user_identities', { subject })).toBe(0)
  return reply
}

describe('a link by e-mail', () => {
  test('a link by e-mail is refused for the bootstrap admin, through every app, and the audit says why', async () => {
    const app = await ssoApp()
    const subject = verified(ADMIN_EMAIL)
    const reply = await expectRefused(app, subject, 'link_required')
    expect(reply.status).toBe(409)
    expect(reply.body).not.toHaveProperty('access_token')
    const [event] = await auditEvents(service, { event: 'login.failed', app_id: app.id })
    expect(event.reason).toBe('link_required')
    await service.admin('PATCH', '/admin/apps/authctl', { body: { allowed_redirect_urls: [REDIRECT_URL] } })
    await expectRefused({ code: 'authctl' }, subject, 'link_required')
  })

  test('a link by e-mail is refused for a user with a global role besides base_user, and made once the role is gone', async () => {
    const app = await ssoApp()
    const user = await buildVerifiedUser(app)
    const role_code = await buildRole(service, 'global')
    const roles = `/admin/users/${user.id}/roles`
    expect((await service.admin('POST', roles, { body: { role_code } })).status).toBe(201)
    const subject = verified(user.email)
    await expectRefused(app, subject, 'link_required')
    expect((await service.admin('DELETE', `${roles}/${role_code}`)).status).toBe(204)
    expect((await logIn(app, subject)).body.user.id).toBe(user.id)
  })

  test('a link by e-mail leaves an unverified account with a global role as it is', async () => {
    const app = await ssoApp()
    const { user } = await buildUser(service, app)
    const role_code = await buildRole(service, 'global')
    await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code } })
    await expectRefused(app, verified(user.email), 'link_required')
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })

  test('a link by e-mail is not undone by a role that is given later', async () => {
    const app = await ssoApp()
    const user = await buildVerifiedUser(app)
    const subject = verified(user.email)
    await logIn(app, subject)
    await service.admin('POST', `/admin/users/${user.id}/roles`, { body: { role_code: await buildRole(service, 'global') } })
    expect((await logIn(app, subject)).body.user.id).toBe(user.id)
  })
})

describe('trusted_email_domains', () => {
  test('an address of an untrusted domain links nobody and registers as unverified', async () => {
    await changeProvider('narrow', { trusted_email_domains: ['corp.example'] })
    const app = await ssoApp()
    const holder = await buildVerifiedUser(app)
    await expectRefused(app, verified(holder.email), 'link_required', 'narrow')
    const stranger = (await logIn(app, verified(someEmail()), 'narrow')).body.user
    expect(stranger.email_verified).toBe(false)
    expect(await countRows(service, 'outbox', { user_id: stranger.id, name: 'verify_email' })).toBe(1)

    const colleague = await buildVerifiedUser(app, someEmail('corp.example'))
    expect((await logIn(app, verified(colleague.email), 'narrow')).body.user.id).toBe(colleague.id)
    const newcomer = (await logIn(app, verified(someEmail('corp.example')), 'narrow')).body.user
    expect(newcomer.email_verified).toBe(true)
  })

  test('a new provider trusts no domain and serves no app', async () => {
    const settings = { issuer: provider.issuer, trusted_email_domains: undefined, app_codes: undefined }
    await buildSsoProvider(service, 'fresh', settings)
    const app = await ssoApp()
    expectError((await beginSso(service, 'fresh', app)).reply, 'auth_method_not_allowed')
    await changeProvider('fresh', { app_codes: [app.code] })
    await expectRefused(app, verified((await buildVerifiedUser(app)).email), 'link_required', 'fresh')
  })

  test('hd has no effect from a provider other than Google', async () => {
    await changeProvider('narrow', { trusted_email_domains: [] })
    const app = await ssoApp()
    const holder = await buildVerifiedUser(app, someEmail('corp.example'))
    provider.tamper.userinfo = (body) => ({ ...body, hd: 'corp.example' })
    try {
      await expectRefused(app, verified(holder.email), 'link_required', 'narrow')
    } finally {
      provider.tamper = {}
    }
  })

  test('a domain that loses its trust before the exchange links nobody', async () => {
    await changeProvider('narrow', { trusted_email_domains: ['example.com'] })
    const app = await ssoApp()
    const holder = await buildVerifiedUser(app)
    const arrived = await come(app, verified(holder.email), 'narrow')
    await changeProvider('narrow', { trusted_email_domains: [] })
    expectError(await exchange(service, arrived), 'link_required')
    expect(await countRows(service, 'user_identities', { user_id: holder.id })).toBe(0)
    await changeProvider('narrow', { trusted_email_domains: ['example.com'] })
    expect((await exchange(service, arrived)).body.user.id).toBe(holder.id)
  })
})

describe('app_codes', () => {
  test('a provider that does not serve the app is refused at the start, at the callback and at the exchange', async () => {
    await changeProvider('narrow', fullTrust)
    const [shop, wiki] = [await ssoApp(), await ssoApp()]
    const subject = verified(someEmail())
    const begun = await beginSso(service, 'narrow', shop)
    const back = await provider.logIn(begun.reply.headers.get('location')!, subject)
    const arrived = await come(shop, subject, 'narrow')
    await changeProvider('narrow', { app_codes: [wiki.code] })

    const { reply } = await beginSso(service, 'narrow', shop)
    expectError(reply, 'auth_method_not_allowed')
    expect(reply.headers.get('location')).toBeNull()
    expectError(await comeBack(service, back), 'auth_method_not_allowed')
    expectError(await exchange(service, arrived), 'auth_method_not_allowed')
    expect(await countRows(service, 'user_identities', { subject })).toBe(0)

    expect((await logIn(wiki, subject, 'narrow')).status).toBe(200)
    await changeProvider('narrow', { app_codes: [wiki.code, shop.code] })
    expect((await exchange(service, arrived)).status).toBe(200)
  })

  test('a provider that stops serving the app is refused for linked users too, and their sessions go on', async () => {
    await changeProvider('narrow', fullTrust)
    const app = await ssoApp()
    const subject = verified(someEmail())
    const { access_token: token } = (await logIn(app, subject, 'narrow')).body
    const arrived = await come(app, subject, 'narrow')
    await changeProvider('narrow', { app_codes: [] })
    expectError(await exchange(service, arrived), 'auth_method_not_allowed')
    expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
  })
})

test('an identity of a provider that serves no app does not count as another sign-in method', async () => {
  await changeProvider('narrow', fullTrust)
  const app = await ssoApp()
  const subject = verified(someEmail())
  await logIn(app, subject, 'narrow')
  const { access_token: token } = (await logIn(app, subject)).body
  await changeProvider('narrow', { app_codes: [] })
  const { items } = (await service.call('GET', '/auth/identities', { token })).body
  const [acme] = items.filter((item: Json) => item.provider === 'acme')
  expectError(await service.call('DELETE', `/auth/identities/${acme.id}`, { token }), 'last_sign_in_method')
  await changeProvider('narrow', fullTrust)
  expect((await service.call('DELETE', `/auth/identities/${acme.id}`, { token })).status).toBe(204)
})

describe('allowed_auth_methods without the provider', () => {
  test('an app without the provider among its methods makes no account and no link, and linked users still sign in', async () => {
    const app = await ssoApp()
    const linked = verified(someEmail())
    const { id } = (await logIn(app, linked)).body.user
    const holder = await buildVerifiedUser(app)
    await change(app, { allowed_auth_methods: ['password'] })
    await expectRefused(app, verified(someEmail()), 'auth_method_not_allowed')
    await expectRefused(app, verified(holder.email), 'auth_method_not_allowed')
    expect((await logIn(app, linked)).body.user.id).toBe(id)
  })

  test('an app without the provider among its methods does not reveal whether an address is known', async () => {
    const app = await ssoApp({ allowed_auth_methods: ['password'] })
    const { user } = await buildUser(service, app)
    const replies = [
      await expectRefused(app, provider.addAccount({ email: user.email, email_verified: false }), 'auth_method_not_allowed'),
      await expectRefused(app, verified(ADMIN_EMAIL), 'auth_method_not_allowed'),
      await expectRefused(app, verified(someEmail()), 'auth_method_not_allowed'),
    ]
    const told = replies.map(({ body: { request_id: _, ...rest } }) => rest)
    expect(told).toEqual([told[0], told[0], told[0]])
  })
})

test('an app that asks for verified addresses accepts the word of a trusted provider and no other', async () => {
  const app = await ssoApp({ require_verified_email: true })
  const trusted = await logIn(app, verified(someEmail()))
  expect([trusted.status, trusted.body.user.email_verified]).toEqual([200, true])

  const email = someEmail()
  const subject = provider.addAccount({ email, email_verified: false })
  const refused = await logIn(app, subject)
  expectError(refused, 'email_unverified')
  // The user exists, but has no grant: the app provisions at the first entry.
  const { body } = await service.admin('GET', `/admin/users?email=${email}`)
  expect(body.items).toHaveLength(1)
  expect(await countRows(service, 'user_apps', { user_id: body.items[0].id })).toBe(0)
  expectError(await logIn(app, subject), 'email_unverified')
  await markVerified(service, body.items[0].id)
  expect((await logIn(app, subject)).status).toBe(200)

  // A user with a password whose address the provider vouches for: the account is taken over, and its owner gets in.
  const squatted = (await service.register(someEmail(), app.code)).body
  expect(squatted.access).toBe('unverified')
  expect((await logIn(app, verified(squatted.user.email))).status).toBe(200)
})
