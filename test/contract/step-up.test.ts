// Step-up: an app asks for a new proof (`max_age`), or for two factors (`acr_values=mfa`). docs/sign-users-in/sign-in-page.md describes it.
import { beforeAll, describe, expect, test } from 'vitest'
import { hashOpaqueToken } from '../../packages/server/src/lib/random.ts'
import { Authenticator, askedIn } from '../support/authenticator.ts'
import { addMember, buildOrganization } from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildSsoProvider, startProvider } from '../support/provider.ts'
import { buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { type AskedFor, askFor, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const origin = 'https://login.example.com'
const service = serviceFixture({ PUBLIC_URL: origin }, { frozen: true })
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
const provider = fixture(() => startProvider([`${origin}/api/v1/auth/sso/acme/callback`], onFileEnd))
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
})

const withMfa = (more: Record<string, string> = {}) => askFor(shop, { acr_values: 'mfa', ...more })

/** A user with an authenticator app, and a browser in which they have signed in with both factors. */
async function buildVisitor(): Promise<{ visitor: Visitor; user: Json; phone: Awaited<ReturnType<typeof enableTwoFactor>> }> {
  const { user, access_token } = await buildUser(service, shop)
  const phone = await enableTwoFactor(service, access_token)
  const visitor = visit(service)
  await showBoth(visitor, askFor(shop), user, phone.code())
  service.advance(30)
  return { visitor, user, phone }
}

/** Goes through the page with password and code. */
async function showBoth(visitor: Visitor, asked: AskedFor, user: Json, code: string) {
  const page = await visitor.get(asked.path)
  expect(page.title).toBe('Sign in')
  const second = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
  expect(second.title).toBe('Enter your code')
  return visitor.send(second, 'Continue', { two_factor_code: code })
}

const claimsFor = async (asked: AskedFor, at: URL | undefined): Promise<Json> => {
  const { status, body } = await exchange(service, shop, asked, at)
  expect(status, JSON.stringify(body)).toBe(200)
  return claimsOf(body.access_token)
}

const outcomeOf = async (visitor: Visitor, asked: AskedFor) => {
  const { app, title } = await visitor.get(asked.path)
  return app ? (app.searchParams.get('error') ?? 'a code') : title
}

describe('acr_values', () => {
  test('a password and a code meet acr_values=mfa, and the tokens say so', async () => {
    const { visitor } = await buildVisitor()
    const asked = withMfa()
    const { app } = await visitor.get(asked.path)
    expect(await claimsFor(asked, app)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
  })

  test.each(['phr', 'MFA', 'urn:mace:incommon:iap:silver', 'mfa2 0'])(
    'acr_values=%s cannot be met, and the app gets an error',
    async (acr_values) => {
      const { visitor } = await buildVisitor()
      expect(await outcomeOf(visitor, askFor(shop, { acr_values }))).toBe('unmet_authentication_requirements')
    },
  )

  test('a list of acr_values with mfa is met by mfa, and the metadata names mfa', async () => {
    const { visitor } = await buildVisitor()
    expect(await outcomeOf(visitor, askFor(shop, { acr_values: 'phr mfa' }))).toBe('a code')
    const metadata = await fetch(`${service.url}/.well-known/oauth-authorization-server`)
    expect(await metadata.json()).toMatchObject({ acr_values_supported: ['mfa'] })
  })

  test('a person without a second factor sees a page that says so, and gets no code', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    const page = await visitor.get(withMfa().path)
    expect([page.title, page.html.includes(user.email)]).toEqual(['You need a second factor', true])
    expect(await outcomeOf(visitor, withMfa({ prompt: 'none' }))).toBe('interaction_required')
    const continued = await visitor.send(await visitor.get(askFor(shop, { invite: 'x' }).path), 'Continue')
    expect(continued.app).toBeDefined()
    const first = page.forms[0]!
    for (const step of ['continue', 'join', 'use_passkey', 'restart']) {
      const reply = await visitor.post(`${service.url}/oauth/authorize`, { ...first.values, step })
      expect(reply.headers.get('location')).toMatch(/^\/oauth\/authorize\?/)
    }
  })

  test('a person whose only second factor is a passkey is asked for it', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const account = await visitor.get(`/account/passkeys?app=${shop.code}`)
    const added = await visitor.send(account, 'Sign in', { email: user.email, password: PASSWORD })
    const device = new Authenticator(origin)
    await visitor.send(added, 'Add a passkey', { passkey: device.create(askedIn(added)!), name: 'Laptop' })
    const asked = withMfa()
    const page = await visitor.get(asked.path)
    expect(page.title).toBe('Use your passkey')
    const { values } = page.forms.find((form) => form.values.step === 'use_passkey')!
    const unanswered = await visitor.post(`${service.url}/oauth/authorize`, values)
    expect((await visitor.get(unanswered.headers.get('location') ?? '')).title).toBe('Use your passkey')
    const reply = await visitor.post(`${service.url}/oauth/authorize`, { ...values, passkey: device.get(askedIn(page)!) })
    const { app } = await visitor.get(reply.headers.get('location') ?? '')
    expect(await claimsFor(asked, app)).toMatchObject({ amr: ['swk', 'mfa'] })
  })

  test('a sign-in at a provider is one factor, whatever the provider asked for', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const { app: away } = await visitor.get(withMfa({ provider: 'acme' }).path)
    const { pathname, search } = await provider.logIn(
      away?.href ?? '',
      provider.addAccount({ email: user.email, email_verified: true }),
    )
    const { app: back } = await visitor.get(`${pathname}${search}`)
    const arrival = await visitor.get(`${back?.pathname}${back?.search}`)
    expect([arrival.title, arrival.app]).toEqual(['You need a second factor', undefined])
  })
})

describe('max_age', () => {
  test('max_age asks again for an older proof, and accepts one that was made for the request', async () => {
    const { visitor, user, phone } = await buildVisitor()
    service.advance(100)
    expect(await outcomeOf(visitor, askFor(shop, { max_age: '130' }))).toBe('a code')
    expect(await outcomeOf(visitor, askFor(shop, { max_age: '129' }))).toBe('Sign in')
    const asked = askFor(shop, { max_age: '0' })
    const { app } = await showBoth(visitor, asked, user, phone.code())
    const { auth_time } = await claimsFor(asked, app)
    expect(auth_time).toBe(Math.floor(service.deps.clock() / 1000))
  })

  test('max_age with mfa counts from the older of the two proofs', async () => {
    const { visitor, user } = await buildVisitor()
    const { db, clock } = service.deps
    const age = (column: string, seconds: number) =>
      db('browser_sessions')
        .where({ user_id: user.id })
        .update({ [column]: clock() - seconds * 1_000 })
    for (const [first, second] of [
      [500, 10],
      [10, 500],
    ] as const) {
      await age('first_proven_at', first)
      await age('second_proven_at', second)
      expect(await outcomeOf(visitor, withMfa({ max_age: '501' }))).toBe('a code')
      expect(await outcomeOf(visitor, withMfa({ max_age: '499' }))).toBe('Sign in')
      expect(await outcomeOf(visitor, withMfa({ max_age: '499', prompt: 'none' }))).toBe('login_required')
    }
    // The second proof is the old one: without mfa only the first counts.
    expect(await outcomeOf(visitor, askFor(shop, { max_age: '499' }))).toBe('a code')
  })

  test('a request that demands a new sign-in accepts both factors only if they are newer than the request', async () => {
    const { visitor, user, phone } = await buildVisitor()
    service.advance(1)
    for (const demand of [{ prompt: 'login' }, { max_age: '0' }] as Record<string, string>[]) {
      const asked = withMfa(demand)
      const page = await visitor.get(asked.path)
      expect(page.title).toBe('Sign in')
      service.advance(31)
      const second = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
      // The first factor alone leads nowhere, also by another form of the same page.
      expect(second.title).toBe('Enter your code')
      expect((await visitor.get(second.url)).app).toBeUndefined()
      const { app } = await visitor.send(second, 'Continue', { two_factor_code: phone.code() })
      expect(await claimsFor(asked, app)).toMatchObject({ auth_time: Math.floor(service.deps.clock() / 1000) })
      service.advance(1)
    }
  })

  test.each([
    ['an hour ago', 3_600_000],
    ['at a time that it does not say', null],
  ])('a provider that signed the person in %s does not meet max_age with mfa', async (_, ago) => {
    const { user, access_token } = await buildUser(service, shop)
    await enableTwoFactor(service, access_token)
    const visitor = visit(service)
    const { app: away } = await visitor.get(withMfa({ max_age: '60', provider: 'acme' }).path)
    expect([away?.searchParams.get('max_age'), away?.searchParams.get('prompt')]).toEqual(['60', 'login'])
    const { pathname, search } = await provider.logIn(
      away?.href ?? '',
      provider.addAccount({ email: user.email, email_verified: true }),
    )
    const { app: back } = await visitor.get(`${pathname}${search}`)
    const code_hash = hashOpaqueToken(back?.searchParams.get('code') ?? '')
    const { db, secretBox, clock } = service.deps
    const { state_hash, claims_box } = await db('sso_logins').where({ code_hash }).first()
    const context = `sso_logins/${state_hash}`
    const profile = { ...JSON.parse(secretBox.open(claims_box, context)), signedInAt: ago === null ? null : clock() - ago }
    const box = secretBox.seal(JSON.stringify(profile), context)
    await db('sso_logins').where({ code_hash }).update({ claims_box: box })
    const page = await visitor.get(`${back?.pathname}${back?.search}`)
    expect(page.title).toBe('Sign in')
    expect(page.html).toContain('The provider did not ask you to sign in again')
  })
})

test('ten refreshes in a row and a switch of the organization do not change auth_time and amr', async () => {
  const { visitor, user } = await buildVisitor()
  const asked = withMfa()
  const { app } = await visitor.get(asked.path)
  let { body } = await exchange(service, shop, asked, app)
  const { auth_time, amr } = claimsOf(body.access_token)
  expect(amr).toContain('mfa')
  const organization = await buildOrganization(service)
  await addMember(service, organization.id, user.id, ['org_member'])
  for (let count = 0; count < 10; count += 1) {
    service.advance(60)
    const more = count === 5 ? { organization_id: organization.id } : {}
    const refreshed = await service.call('POST', '/auth/refresh', {
      body: { refresh_token: body.refresh_token, ...more },
    })
    expect(refreshed.status, JSON.stringify(refreshed.body)).toBe(200)
    body = refreshed.body
    expect(claimsOf(body.access_token)).toMatchObject({ auth_time, amr })
  }
  expect(claimsOf(body.access_token).org_id).toBe(organization.id)
})
