// The sign-in page, as a browser without scripts sees it (docs/sign-users-in/sign-in-page.md).
import { describe, expect, test } from 'vitest'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildUser, claimsOf, PASSWORD } from '../support/service.ts'
import { askFor, exchange, signInOnPage, visit } from '../support/sign-in-page.ts'

const service = serviceFixture()
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
const forum = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://forum.example/cb'] })

describe('signing in', () => {
  test('a password sends the browser to the app with a code, and the code gets tokens', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const asked = askFor(shop)
    const arrival = await signInOnPage(visitor, asked, user.email)
    expect(arrival.app?.href).toContain('https://shop.example/callback?')
    expect(arrival.app?.searchParams.get('state')).toBe(asked.state)
    expect(arrival.app?.searchParams.get('iss')).toBe(service.deps.config.publicUrl)
    const { status, body } = await exchange(service, shop, asked, arrival.app)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body).toMatchObject({ token_type: 'Bearer', user: { id: user.id }, app: { code: shop.code }, scope: '' })
    expect(claimsOf(body.access_token)).toMatchObject({ sub: user.id, amr: ['pwd'], auth_time: expect.any(Number) })
  })

  test('a second app that the user already uses lets them in without a page', async () => {
    const { user } = await buildUser(service, shop)
    await service.login(user.email, forum.code)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    const asked = askFor(forum)
    const arrival = await visitor.get(asked.path)
    expect(arrival.app?.href).toContain('https://forum.example/cb?code=')
    expect((await exchange(service, forum, asked, arrival.app)).body.user.id).toBe(user.id)
  })

  test('a second app that the user has never used asks first, and the page names the user and the address of the app', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    const asked = askFor(forum)
    const page = await visitor.get(asked.path)
    expect(page.title).toBe(`Continue to ${forum.code}`)
    expect(page.html).toContain(user.email)
    expect(page.html).toContain('forum.example')
    const arrival = await visitor.send(page, 'Continue')
    expect((await exchange(service, forum, asked, arrival.app)).body.app.code).toBe(forum.code)
  })
})

describe('the parameter method', () => {
  test.each(['email_code', 'magic_link'])(
    'method=%s begins with the mail, and leads back to the other sign-in methods',
    async (method) => {
      const { user } = await buildUser(service, shop)
      const visitor = visit(service)
      const asked = askFor(shop, { method, login_hint: user.email })
      const page = await visitor.get(asked.path)
      expect([page.title, page.html.includes(user.email)]).toEqual(['Sign in by e-mail', true])
      const again = await visitor.send(page, 'Send the code', { email: 'no address' })
      expect([again.title, again.html.includes('role="alert"') || again.html.includes('aria-invalid')]).toEqual([
        page.title,
        true,
      ])
      const back = await visitor.send(again, 'Back')
      expect(back.title).toBe('Sign in')
      const arrival = await visitor.send(back, 'Sign in', { email: user.email, password: PASSWORD })
      expect((await exchange(service, shop, asked, arrival.app)).body.user.id).toBe(user.id)
    },
  )

  test('method=passkey shows its button first, and method=password shows the usual page', async () => {
    const placeOf = async (method?: string) => {
      const { title, html } = await visit(service).get(askFor(shop, { method }).path)
      expect(title).toBe('Sign in')
      return [html.indexOf('data-passkey-button') < html.indexOf('name="email"'), /class="quiet" data-passkey-button/.test(html)]
    }
    expect(await placeOf('passkey')).toEqual([true, false])
    expect(await placeOf('password')).toEqual([false, true])
    expect(await placeOf()).toEqual([false, true])
  })

  test('the parameter method shows no page to a person who can enter, and none with prompt=none', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    expect((await visitor.get(askFor(shop, { method: 'email_code' }).path)).app?.searchParams.has('code')).toBe(true)
    const { app } = await visit(service).get(askFor(shop, { method: 'email_code', prompt: 'none' }).path)
    expect(app?.searchParams.get('error')).toBe('login_required')
    expect((await visit(service).get(askFor(shop, { method: 'email_code', prompt: 'create' }).path)).title).toBe(
      'Create your account',
    )
  })
})

test('a tab whose cookie was replaced by another new tab begins again', async () => {
  const { user } = await buildUser(service, shop)
  const visitor = visit(service)
  const asked = askFor(shop)
  const page = await visitor.get(asked.path)
  visitor.cookies.clear()
  await visitor.get(askFor(forum).path)
  const again = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
  expect(again.title).toBe('Sign in')
  const arrival = await visitor.send(again, 'Sign in', { email: user.email, password: PASSWORD })
  expect(arrival.app?.searchParams.get('state')).toBe(asked.state)
})
