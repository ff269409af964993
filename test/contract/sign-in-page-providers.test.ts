// Third-party providers on the sign-in page, as a browser without scripts sees them (docs/sign-users-in/sign-in-page.md).
import { beforeAll, describe, expect, test } from 'vitest'
import { hashOpaqueToken } from '../../packages/server/src/lib/random.ts'
import { closeAccount } from '../support/factories.ts'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildSsoProvider, callbackOf, exchange as exchangeAtApi, startProvider } from '../support/provider.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { buildApp, buildUser, claimsOf, type Json, someEmail } from '../support/service.ts'
import {
  type AskedFor,
  askFor,
  countedSignIns,
  exchange,
  type Page,
  signInOnPage,
  type Visitor,
  visit,
} from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const provider = fixture(() => startProvider([callbackOf('acme'), callbackOf('down')], onFileEnd))
const service = serviceFixture()
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
const forum = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://forum.example/cb'] })
beforeAll(async () => {
  await buildSsoProvider(service, 'acme', { issuer: provider.issuer })
  await buildSsoProvider(service, 'only-forum', { issuer: provider.issuer, app_codes: [forum.code] })
  await buildSsoProvider(service, 'off', { issuer: provider.issuer, enabled: false })
})

const account = (email: string, more: Json = {}) => provider.addAccount({ email, email_verified: true, ...more })
const pathOf = ({ pathname, search }: URL) => `${pathname}${search}`

/** Goes to the provider, and returns the path at which the provider's answer reaches our page. */
async function answerFor(visitor: Visitor, asked: AskedFor, subject: string): Promise<string> {
  const { app: away } = await visitor.get(`${asked.path}&provider=acme`)
  if (!away?.href.startsWith(provider.issuer)) throw new Error(`did not go to the provider: ${away}`)
  const callback = await visitor.get(pathOf(await provider.logIn(away.href, subject)))
  if (!callback.app) throw new Error(`no return: ${callback.html}`)
  return pathOf(callback.app)
}

/** Writes into the answer when the person signed in at the provider. */
async function changeAnswer(path: string, signedInAt: number | null): Promise<void> {
  const code_hash = hashOpaqueToken(new URL(path, service.url).searchParams.get('code') ?? '')
  const { db, secretBox } = service.deps
  const { state_hash, claims_box } = await db('sso_logins').where({ code_hash }).first()
  const context = `sso_logins/${state_hash}`
  const profile = { ...JSON.parse(secretBox.open(claims_box, context)), signedInAt }
  await db('sso_logins')
    .where({ code_hash })
    .update({ claims_box: secretBox.seal(JSON.stringify(profile), context) })
}

const comeBack = async (visitor: Visitor, asked: AskedFor, subject: string) =>
  visitor.get(await answerFor(visitor, asked, subject))

describe('a provider', () => {
  test('a provider has a button on the page of each app that it serves, unless it is disabled', async () => {
    const page = await visit(service).get(askFor(shop).path)
    expect([...page.html.matchAll(/Continue with ([\w ]+)/g)].map(([, name]) => name)).toEqual(['Acme'])
    const other = await visit(service).get(askFor(forum).path)
    expect([...other.html.matchAll(/Continue with ([\w ]+)/g)].map(([, name]) => name)).toEqual(['Acme', 'Only Forum'])
  })

  test('a provider signs in a linked user without a page', async () => {
    const { user } = await buildUser(service, shop)
    const subject = account(user.email)
    await comeBack(visit(service), askFor(shop), subject)
    const visitor = visit(service)
    const asked = askFor(shop)
    const { success: before = 0 } = await countedSignIns(service, 'sso')
    const arrival = await comeBack(visitor, asked, subject)
    expect(await countedSignIns(service, 'sso')).toMatchObject({ success: before + 1 })
    const { body } = await exchange(service, shop, { ...asked }, arrival.app)
    expect(body.user?.id).toBe(user.id)
    expect(claimsOf(body.access_token)).toMatchObject({ amr: [] })
  })

  test('a provider makes an account only after a button of the page was pressed', async () => {
    const email = someEmail()
    const visitor = visit(service)
    const asked = askFor(shop)
    const page = await comeBack(visitor, asked, account(email, { given_name: 'Ada' }))
    expect(page.title).toBe('Create your account')
    expect(await countRows(service, 'users', { email })).toBe(0)
    const arrival = await visitor.send(page, 'Create your account')
    const { body } = await exchange(service, shop, asked, arrival.app)
    expect(body.user).toMatchObject({ email, first_name: 'Ada', email_verified: true })
  })

  test('a provider replaces another signed-in person only after a button of the page was pressed', async () => {
    const [ada, bob] = [await buildUser(service, shop), await buildUser(service, shop)]
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), ada.user.email)
    const session = visitor.cookies.get('gatehouse_session')
    const asked = askFor(shop, { prompt: 'login' })
    const page = await comeBack(visitor, asked, account(bob.user.email))
    expect(page.title).toBe(`Continue as ${bob.user.email}`)
    expect(visitor.cookies.get('gatehouse_session')).toBe(session)
    const arrival = await visitor.send(page, 'Continue')
    expect((await exchange(service, shop, asked, arrival.app)).body.user.id).toBe(bob.user.id)
  })

  test('a provider replaces a person who signed in in another tab meanwhile only after a question', async () => {
    const [ada, bob] = [await buildUser(service, shop), await buildUser(service, shop)]
    await markVerified(service, ada.user.id)
    const visitor = visit(service)
    const asked = askFor(shop)
    const path = await answerFor(visitor, asked, account(ada.user.email))
    await signInOnPage(visitor, askFor(shop), bob.user.email)
    const page = await visitor.get(path)
    expect(page.title).toBe(`Continue as ${ada.user.email}`)
    const arrival = await visitor.send(page, 'Continue')
    expect((await exchange(service, shop, asked, arrival.app)).body.user.id).toBe(ada.user.id)
    // The page before the last leads on, since the person whom it names is signed in now.
    expect((await visitor.get(page.url)).app?.href).toContain('https://shop.example/callback?code=')
  })

  test('a provider makes no account for a person who went on with one that was deleted meanwhile', async () => {
    const [ada, bob] = [await buildUser(service, shop), await buildUser(service, shop)]
    await markVerified(service, ada.user.id)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), bob.user.email)
    const page = await comeBack(visitor, askFor(shop, { prompt: 'login' }), account(ada.user.email))
    await closeAccount(service, ada.user.id, 'deleted')
    const next = await visitor.send(page, 'Continue')
    expect(next.title).toBe('Create your account')
    expect(await countRows(service, 'users', { email: ada.user.email, status: 'active' })).toBe(0)
  })

  test('a refusal of the provider leads back to the page, which reports it and asks again', async () => {
    const visitor = visit(service)
    const { app: away } = await visitor.get(`${askFor(shop).path}&provider=acme`)
    const state = away?.searchParams.get('state')
    const callback = await visitor.get(`/api/v1/auth/sso/acme/callback?error=access_denied&state=${state}&iss=${provider.issuer}`)
    const page = await visitor.get(pathOf(callback.app!))
    expect(page.title).toBe('Sign in')
    expect(page.html).toContain('The provider did not sign you in.')
  })

  test('a provider that is named as the method is opened at once', async () => {
    const { app: away } = await visit(service).get(`${askFor(shop).path}&method=acme`)
    expect(away?.href.startsWith(provider.issuer)).toBe(true)
    const both = await visit(service).get(`${askFor(shop).path}&method=unknown&provider=acme`)
    expect(both.app?.href.startsWith(provider.issuer)).toBe(true)
  })

  test.each(['provider', 'method'])(
    'a provider that is unknown, disabled or of another app leads to the page if it is named as %s',
    async (name) => {
      for (const code of ['unknown', 'off', 'only-forum']) {
        const page = await visit(service).get(`${askFor(shop).path}&${name}=${code}`)
        expect(page.title).toBe('Sign in')
        expect(page.html).toContain('This way to sign in is not open here')
      }
    },
  )

  test('a provider is asked to sign the person in again if the app demands it', async () => {
    const { app: away } = await visit(service).get(askFor(shop, { prompt: 'login', provider: 'acme' }).path)
    expect(away?.searchParams.get('prompt')).toBe('login')
  })

  test.each([
    ['prompt=login', { prompt: 'login' }],
    ['max_age', { max_age: '60' }],
  ])('a provider that answers %s with an earlier sign-in, or without its time, signs nobody in', async (_, demand) => {
    const { user } = await buildUser(service, shop)
    const subject = account(user.email)
    for (const signedInAt of [Date.now() - 3_600_000, null]) {
      const visitor = visit(service)
      const path = await answerFor(visitor, askFor(shop, demand), subject)
      await changeAnswer(path, signedInAt)
      const page = await visitor.get(path)
      expect([page.title, visitor.cookies.has('gatehouse_session')]).toEqual(['Sign in', false])
      expect(page.html).toContain('The provider did not ask you to sign in again')
    }
    const fresh = await comeBack(visit(service), askFor(shop, demand), subject)
    expect(fresh.app?.href ?? fresh.title).toMatch(/^https:\/\/shop\.example\/callback\?|^Continue to/)
  })

  test('an old sign-in at the provider does not meet the demand of a later request', async () => {
    const { user } = await buildUser(service, shop)
    for (const signedInAt of [Date.now() - 3_600_000, null]) {
      const visitor = visit(service)
      const path = await answerFor(visitor, askFor(shop), account(user.email))
      await changeAnswer(path, signedInAt)
      await visitor.get(path)
      expect(visitor.cookies.has('gatehouse_session')).toBe(true)
      expect((await visitor.get(askFor(shop, { max_age: '7200' }).path)).title === 'Sign in').toBe(signedInAt === null)
      expect((await visitor.get(askFor(shop, { max_age: '1800' }).path)).title).toBe('Sign in')
    }
  })
})

describe('"Keep me signed in"', () => {
  /** Whether the session outlives the browser. */
  const isKept = (visitor: Visitor) => /expires=/i.test(visitor.lines.get('gatehouse_session') ?? 'no session')
  /** Presses the provider's button on a page, and follows the provider back to our page. */
  const choose = async (visitor: Visitor, page: Page, subject: string, values: Record<string, string>) => {
    const { app: away } = await visitor.send(page, 'Continue with Acme', values)
    const callback = await visitor.get(pathOf(await provider.logIn(away!.href, subject)))
    return visitor.get(pathOf(callback.app!))
  }

  test.each([
    ['keeps the person signed in if they asked for that', { keep: 'yes' }, true],
    ['does not keep the person signed in by default', {}, false],
  ])('a sign-in at a provider %s, whatever the other fields hold', async (_, keep, kept) => {
    const { user } = await buildUser(service, shop)
    const subject = account(user.email)
    for (const parameters of [{}, { prompt: 'create' }]) {
      const visitor = visit(service)
      const page = await visitor.get(askFor(shop, parameters).path)
      const values = { ...keep, email: 'no address', password: '' }
      const arrival = await choose(visitor, page, subject, values)
      expect(arrival.app?.href ?? arrival.title).toMatch(/^https:\/\/shop\.example\/callback\?|^Continue to/)
      expect(isKept(visitor)).toBe(kept)
    }
  })

  test('"Keep me signed in" holds for a new account, for a change of person, and after a second factor', async () => {
    const visitor = visit(service)
    const begin = async (visitor: Visitor) => visitor.get(askFor(shop, { prompt: 'login' }).path)
    const isNew = await choose(visitor, await begin(visitor), account(someEmail()), { keep: 'yes' })
    await visitor.send(isNew, 'Create your account')
    expect(isKept(visitor)).toBe(true)

    const { user, access_token } = await buildUser(service, shop)
    await markVerified(service, user.id)
    const isOther = await choose(visitor, await begin(visitor), account(user.email), { keep: 'yes' })
    await visitor.send(isOther, 'Continue')
    expect(isKept(visitor)).toBe(true)

    const phone = await enableTwoFactor(service, access_token)
    const again = visit(service)
    const asks = await choose(again, await again.get(askFor(shop).path), account(user.email), { keep: 'yes' })
    expect(asks.title).toBe('Enter your code')
    await again.send(asks, 'Continue', { two_factor_code: phone.code() })
    expect(isKept(again)).toBe(true)
  })

  test('a provider that is unreachable, or not for this app, leaves the page with its other sign-in methods', async () => {
    const visitor = visit(service)
    const page = await visitor.get(askFor(shop).path)
    const other = await visitor.send(page, 'Continue with Acme', { provider: 'only-forum', email: 'ada@example.com' })
    expect([other.title, other.html]).toEqual(['Sign in', expect.stringContaining('This way to sign in is not open here')])
    expect(other.html).toContain('value="ada@example.com"')
    const app = await buildApp(service, { allowed_redirect_urls: ['https://shop.example/callback'] })
    await buildSsoProvider(service, 'gone', { issuer: 'http://127.0.0.1:1', app_codes: [app.code] })
    for (const [parameters, title] of [
      [{}, 'Sign in'],
      [{ prompt: 'create' }, 'Create your account'],
    ] as const) {
      const down = await visitor.send(await visitor.get(askFor(app, parameters).path), 'Continue with Gone')
      expect([down.title, down.html]).toEqual([title, expect.stringContaining('The provider cannot be reached')])
    }
  })
})

describe('the return from a provider', () => {
  test('a return in another browser opens nothing, and the browser that began can still use the answer', async () => {
    const { user } = await buildUser(service, shop)
    const victim = visit(service)
    const asked = askFor(shop)
    const path = await answerFor(victim, asked, account(user.email))
    for (const other of [visit(service), await signedIn()]) {
      const before = other.cookies.get('gatehouse_session')
      const page = await other.get(path)
      expect([page.status, page.title]).toEqual([400, 'Go back to where you began'])
      expect(other.cookies.get('gatehouse_session')).toBe(before)
    }
    expect((await victim.get(path)).app?.href).toContain('https://shop.example/callback?')
  })

  test('a return to an app that was switched off meanwhile signs nobody in', async () => {
    const app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
    const { user } = await buildUser(service, app)
    const visitor = visit(service)
    const path = await answerFor(visitor, askFor(app), account(user.email))
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { status: 'inactive' } })
    const page = await visitor.get(path)
    expect([page.status, page.title]).toEqual([403, 'This app is switched off'])
    expect(visitor.cookies.has('gatehouse_session')).toBe(false)
  })

  test('a return works once', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const path = await answerFor(visitor, askFor(shop), account(user.email))
    await visitor.get(path)
    visitor.cookies.delete('gatehouse_session')
    const again = await visitor.get(path)
    expect(again.title).toBe('Sign in')
    expect(visitor.cookies.has('gatehouse_session')).toBe(false)
  })

  test('a return has a code that the API does not accept', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const path = await answerFor(visitor, askFor(shop), account(user.email))
    const code = new URL(path, service.url).searchParams.get('code') ?? ''
    const reply = await exchangeAtApi(service, { code, verifier: visitor.cookies.get('gatehouse_browser') ?? '' })
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid_sso_code'])
  })

  test('a return sets no cookie at the callback of the API', async () => {
    const visitor = visit(service)
    const { app: away } = await visitor.get(`${askFor(shop).path}&provider=acme`)
    const { pathname, search } = await provider.logIn(away!.href, account(someEmail()))
    const reply = await fetch(`${service.url}${pathname}${search}`, { redirect: 'manual' })
    expect(new URL(reply.headers.get('location') ?? '').pathname).toBe('/oauth/return')
    expect(reply.headers.getSetCookie()).toEqual([])
  })
})

describe('a second factor after a provider', () => {
  test('the second factor comes before a provider links, verifies or hands out anything', async () => {
    const { user, access_token } = await buildUser(service, shop)
    await markVerified(service, user.id)
    const authenticator = await enableTwoFactor(service, access_token)
    const visitor = visit(service)
    const asked = askFor(shop)
    const page = await comeBack(visitor, asked, account(user.email))
    expect(page.title).toBe('Enter your code')
    expect(visitor.cookies.has('gatehouse_session')).toBe(false)
    const identities = () => countRows(service, 'user_identities', { user_id: user.id })
    expect(await identities()).toBe(0)
    const wrong = await visitor.send(page, 'Continue', { two_factor_code: '000000' })
    expect(wrong.title).toBe('Enter your code')
    expect(await identities()).toBe(0)
    const arrival = await visitor.send(wrong, 'Continue', { two_factor_code: authenticator.code() })
    expect(await identities()).toBe(1)
    const { body } = await exchange(service, shop, asked, arrival.app)
    expect(claimsOf(body.access_token)).toMatchObject({ amr: ['otp', 'mfa'] })
  })
})

async function signedIn(): Promise<Visitor> {
  const { user } = await buildUser(service, shop)
  const visitor = visit(service)
  await signInOnPage(visitor, askFor(shop), user.email)
  return visitor
}
