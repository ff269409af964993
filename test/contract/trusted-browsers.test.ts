// Browsers in which a person chose not to be asked for the second factor for some days.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { Authenticator, askedIn } from '../support/authenticator.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { type AskedFor, askFor, exchange, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const service = serviceFixture({}, { frozen: true })
const shop = appFixture(service, {
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example/callback'],
  trust_device_days: 7,
})
const strict = appFixture(service, {
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://strict.example/callback'],
  trust_device_days: 0,
})
const day = 86_400
const box = /name="trust"/

interface Owner {
  user: Json
  email: string
  password: string
  token: string
  code(): string
}

async function owner(): Promise<Owner> {
  const { user, access_token: token } = await buildUser(service, shop)
  const { code } = await enableTwoFactor(service, token)
  return { user, email: user.email, password: PASSWORD, token, code }
}

/** Types the password, and the code if it is asked for. Returns the last page and whether a code was asked for. */
async function signIn(
  { email, password, code }: Owner,
  visitor: Visitor,
  { app = shop, trust = false, asked = askFor(app) as AskedFor } = {},
) {
  const page = await visitor.get(asked.path)
  let arrival = await visitor.send(page, 'Sign in', { email, password })
  const wasAsked = arrival.app === undefined && /name="two_factor_code"/.test(arrival.html)
  const offered = wasAsked && box.test(arrival.html)
  if (wasAsked) {
    service.advance(30)
    arrival = await visitor.send(arrival, 'Continue', { two_factor_code: code(), ...(trust && { trust: 'yes' }) })
  }
  const tokens = arrival.app && (await exchange(service, app, asked, arrival.app)).body
  return { arrival, wasAsked, offered, claims: tokens?.access_token && claimsOf(tokens.access_token) }
}

/** Another day in the same browser, where the browser session is over. */
function later(visitor: Visitor, seconds: number) {
  service.advance(seconds)
  visitor.cookies.delete('gatehouse_session')
}

async function trusted() {
  const person = await owner()
  const visitor = visit(service)
  const first = await signIn(person, visitor, { trust: true })
  expect(first).toMatchObject({ wasAsked: true, offered: true, claims: { amr: ['pwd', 'otp', 'mfa'] } })
  return { person, visitor }
}

test('a trusted browser is not asked for the code within the days of the app, and its tokens claim one factor', async () => {
  const { person, visitor } = await trusted()
  later(visitor, 6 * day)
  const second = await signIn(person, visitor)
  expect(second).toMatchObject({ wasAsked: false, claims: { amr: ['pwd'] } })
  // The days count from the code, whatever happened in between.
  later(visitor, day)
  expect(await signIn(person, visitor)).toMatchObject({ wasAsked: true })
})

test('a browser is trusted only if the person chose that', async () => {
  const person = await owner()
  const visitor = visit(service)
  await signIn(person, visitor)
  expect(visitor.cookies.has('gatehouse_trust')).toBe(false)
  later(visitor, day)
  expect(await signIn(person, visitor)).toMatchObject({ wasAsked: true })
})

test('a silent entry into an app without trust asks for the code', async () => {
  const { person, visitor } = await trusted()
  later(visitor, day)
  expect(await signIn(person, visitor)).toMatchObject({ wasAsked: false })
  const silent = await visitor.get(askFor(shop).path)
  expect(silent.app?.searchParams.has('code')).toBe(true)
  const { email, code } = person
  const asked = await visitor.get(askFor(strict).path)
  expect(asked.app).toBeUndefined()
  const next = await visitor.send(asked, 'Sign in', { email, password: PASSWORD })
  expect(next.html).toContain('name="two_factor_code"')
  expect(next.html).not.toMatch(box)
  service.advance(30)
  const done = await visitor.send(next, 'Continue', { two_factor_code: code(), trust: 'yes' })
  expect(done.status).toBeLessThan(400)
})

test('an app without trust neither offers it nor accepts it from a form', async () => {
  const person = await owner()
  const visitor = visit(service)
  expect(await signIn(person, visitor, { app: strict, trust: true })).toMatchObject({ wasAsked: true, offered: false })
  expect(visitor.cookies.has('gatehouse_trust')).toBe(false)
  expect(await countRows(service, 'trusted_browsers', { user_id: person.user.id })).toBe(0)
})

test.each([
  ['acr_values', { acr_values: 'mfa' }],
  ['max_age', { max_age: '3600' }],
  ['prompt', { prompt: 'login' }],
])('a step-up by %s asks for the code, and offers no trust', async (_, parameters) => {
  const { person, visitor } = await trusted()
  later(visitor, day)
  const asked = askFor(shop, parameters)
  expect(await signIn(person, visitor, { asked })).toMatchObject({
    wasAsked: true,
    offered: false,
    claims: { amr: ['pwd', 'otp', 'mfa'] },
  })
})

test('the trust of one person does not count for another in the same browser', async () => {
  const { visitor } = await trusted()
  const other = await owner()
  later(visitor, day)
  expect(await signIn(other, visitor)).toMatchObject({ wasAsked: true })
})

test.each([
  ['of another user', async () => ({ user_id: (await owner()).user.id })],
  ['from before the sessions were ended', async () => ({ version: -1 })],
  [
    'for a factor that was replaced',
    async ({ user }: Owner) => {
      const row = await service.deps.db('second_factors').where({ user_id: user.id }).first()
      return { factor_activated_at: row.activated_at - 1 }
    },
  ],
])('a trust %s does not count, even if it is left in the database', async (_, changes) => {
  const { person, visitor } = await trusted()
  const cookie = visitor.cookies.get('gatehouse_trust')!
  const { db } = service.deps
  const isLeft = await db('trusted_browsers')
    .where({ user_id: person.user.id })
    .update(await changes(person))
  later(visitor, 60)
  visitor.cookies.set('gatehouse_trust', cookie)
  expect({ isLeft, ...(await signIn(person, visitor)) }).toMatchObject({ isLeft: 1, wasAsked: true })
})

test('an app that gives up trust during a sign-in gives no tokens for that sign-in', async () => {
  const { person, visitor } = await trusted()
  later(visitor, day)
  const asked = askFor(shop)
  const page = await visitor.get(asked.path)
  const { app } = await visitor.send(page, 'Sign in', { email: person.email, password: PASSWORD })
  await service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { trust_device_days: 0 } })
  expect((await exchange(service, shop, asked, app!)).body.error).toBe('invalid_grant')
  await service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { trust_device_days: 7 } })
})

test('a trust from before the date of a demand is not accepted, and a code then opens the app', async () => {
  const app = await buildApp(service, {
    auto_grant_on_signup: true,
    allowed_redirect_urls: ['https://later.example/callback'],
    trust_device_days: 7,
  })
  const { person, visitor } = await trusted()
  await service.admin('POST', `/admin/users/${person.user.id}/apps/${app.id}`, { body: {} })
  later(visitor, day)
  expect(await signIn(person, visitor, { app })).toMatchObject({ wasAsked: false, claims: { amr: ['pwd'] } })
  const require_two_factor_from = new Date(service.deps.clock()).toISOString()
  await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { require_two_factor: 'everyone', require_two_factor_from } })
  later(visitor, 60)
  expect(await signIn(person, visitor, { app })).toMatchObject({ wasAsked: true, claims: { amr: ['pwd', 'otp', 'mfa'] } })
})

test('the account page asks a trusted browser for the code', async () => {
  const { person, visitor } = await trusted()
  later(visitor, day)
  const page = await visitor.get(`/account?app=${shop.code}`)
  const next = await visitor.send(page, 'Sign in', { email: person.email, password: PASSWORD })
  expect(next.html).toContain('name="two_factor_code"')
})

test('the API ignores trust', async () => {
  const { person, visitor } = await trusted()
  const device_token = visitor.cookies.get('gatehouse_device')
  const reply = await service.login(person.email, shop.code, { device_token })
  expect(reply).toMatchObject({ status: 401, body: { requires_2fa: true } })
})

test('trust does not begin without a code', async () => {
  const { user, email } = await (async () => {
    const { user } = await buildUser(service, shop)
    return { user, email: user.email as string }
  })()
  const visitor = visit(service)
  await visitor.send(await visitor.get(askFor(shop).path), 'Sign in', { email, password: PASSWORD, trust: 'yes' })
  expect(visitor.cookies.has('gatehouse_trust')).toBe(false)
  expect(await countRows(service, 'trusted_browsers', { user_id: user.id })).toBe(0)
})

test.each([
  ['all sessions are ended', ({ token }: Owner) => service.call('POST', '/auth/logout-all', { token })],
  [
    'the password is changed',
    (person: Owner) => {
      const body = { current_password: PASSWORD, new_password: 'another long passphrase' }
      person.password = body.new_password
      return service.call('POST', '/auth/password/change', { token: person.token, body })
    },
  ],
  [
    'an admin resets the second factor',
    ({ user }: Owner) => service.admin('DELETE', `/admin/users/${user.id}/2fa`, { body: {} }),
  ],
  [
    'the person gets new recovery codes',
    async (person: Owner) => {
      const visitor = visit(service)
      const asked = await visitor.get(`/account/two-factor?app=${shop.code}`)
      const half = await visitor.send(asked, 'Sign in', { email: person.email, password: PASSWORD })
      const account = await visitor.send(half, 'Continue', { two_factor_code: person.code() })
      const renewed = await visitor.send(account, 'Get new recovery codes')
      expect(renewed.title).toBe('Your recovery codes')
      return renewed
    },
  ],
  [
    'an admin removes a passkey',
    async ({ user }: Owner) => {
      const [id, credential_id] = [randomUUID(), randomUUID()]
      const row = { id, user_id: user.id, credential_id, public_key: 'x', sign_count: 0, name: 'Laptop', created_at: 1 }
      await service.deps.db('passkeys').insert(row)
      return service.admin('DELETE', `/admin/users/${user.id}/passkeys/${id}`)
    },
  ],
  [
    'the user is suspended and activated',
    async ({ user }: Owner) => {
      await service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'suspended' } })
      return service.admin('PATCH', `/admin/users/${user.id}`, { body: { status: 'active' } })
    },
  ],
  ['the app no longer allows it', () => service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { trust_device_days: 0 } })],
])('trust ends when %s', async (_, end) => {
  const { person, visitor } = await trusted()
  const cookie = visitor.cookies.get('gatehouse_trust')!
  service.advance(30)
  const ended = await end(person)
  expect(ended.status).toBeLessThan(300)
  later(visitor, 60)
  visitor.cookies.set('gatehouse_trust', cookie)
  const { wasAsked, arrival } = await signIn(person, visitor)
  // Without a second factor there is nothing to ask for.
  const hasFactor = (await countRows(service, 'second_factors', { user_id: person.user.id })) > 0
  expect({ wasAsked, hasFactor: hasFactor || wasAsked }).toEqual({ wasAsked: hasFactor, hasFactor })
  expect(arrival.status).toBeLessThan(400)
  await service.admin('PATCH', `/admin/apps/${shop.id}`, { body: { trust_device_days: 7 } })
})

test('a new passkey ends trust', async () => {
  const { person, visitor } = await trusted()
  const page = await visitor.get(`/account/passkeys?app=${shop.code}`)
  const passkey = new Authenticator(service.deps.config.publicUrl).create(askedIn(page)!)
  await visitor.send(page, 'Add a passkey', { passkey, name: 'Phone' })
  expect(await countRows(service, 'passkeys', { user_id: person.user.id })).toBe(1)
  later(visitor, 60)
  expect(await signIn(person, visitor)).toMatchObject({ wasAsked: true })
})

test('an app that administers the service neither offers trust nor accepts it', async () => {
  const own = await buildService({ AUTH_ADMIN_APP_CODES: 'authctl,console' })
  const allowed_redirect_urls = ['https://console.example/callback']
  const console = await buildApp(own, {
    code: 'console',
    auto_grant_on_signup: true,
    allowed_redirect_urls,
    trust_device_days: 7,
  })
  const { user, access_token } = await buildUser(own, console)
  const { code } = await enableTwoFactor(own, access_token)
  const visitor = visit(own)
  const page = await visitor.send(await visitor.get(askFor(console).path), 'Sign in', { email: user.email, password: PASSWORD })
  expect(page.html).toContain('name="two_factor_code"')
  expect(page.html).not.toMatch(box)
  await visitor.send(page, 'Continue', { two_factor_code: code(), trust: 'yes' })
  expect(visitor.cookies.has('gatehouse_session')).toBe(true)
  expect(visitor.cookies.has('gatehouse_trust')).toBe(false)
})

test('a trusted browser is asked for a second factor that replaces the first one', async () => {
  const { person, visitor } = await trusted()
  const cookie = visitor.cookies.get('gatehouse_trust')!
  await service.admin('DELETE', `/admin/users/${person.user.id}/2fa`, { body: {} })
  expect((await service.call('GET', '/auth/trusted-browsers', { token: person.token })).body.items).toEqual([])
  const { access_token: token } = (await service.login(person.email, shop.code)).body
  const { code } = await enableTwoFactor(service, token)
  later(visitor, 60)
  visitor.cookies.set('gatehouse_trust', cookie)
  expect(await signIn({ ...person, code }, visitor)).toMatchObject({ wasAsked: true })
})

test('the user and an admin see trusted browsers, and end the trust of one', async () => {
  const { person, visitor } = await trusted()
  const { token, user } = person
  const own = await service.call('GET', '/auth/trusted-browsers', { token })
  expect(own.body.items).toHaveLength(1)
  const [{ id }] = own.body.items
  const seen = await service.admin('GET', `/admin/users/${user.id}/trusted-browsers`)
  expect(seen.body.items).toEqual(own.body.items)
  const stranger = await owner()
  const foreign = await service.call('DELETE', `/auth/trusted-browsers/${id}`, { token: stranger.token })
  expect(foreign.status).toBe(404)
  expect((await service.call('DELETE', `/auth/trusted-browsers/${id}`, { token })).status).toBe(204)
  later(visitor, 60)
  expect(await signIn(person, visitor)).toMatchObject({ wasAsked: true })
  const events = await service.deps.db('audit_events').where({ user_id: user.id }).whereLike('event', 'browser.%').pluck('event')
  expect(events).toEqual(['browser.trusted', 'browser.untrusted'])
})

test('a lock after wrong codes does not lock out a trusted browser, whose sign-in does not clear the lock', async () => {
  const { person, visitor } = await trusted()
  const { email } = person
  const stranger = visit(service)
  let page = await stranger.send(await stranger.get(askFor(shop).path), 'Sign in', { email, password: PASSWORD })
  for (let tries = 0; tries < 10; tries += 1) page = await stranger.send(page, 'Continue', { two_factor_code: '000000' })
  later(visitor, 60)
  expect(await signIn(person, visitor)).toMatchObject({ wasAsked: false, claims: { amr: ['pwd'] } })
  expect((await service.login(email, shop.code, { two_factor_code: person.code() })).status).toBe(423)
})
