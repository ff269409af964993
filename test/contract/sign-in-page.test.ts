// The sign-in page, as a browser without scripts sees it (docs/sign-users-in.md).
import { describe, expect, test } from 'vitest'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { buildUser, claimsOf, PASSWORD } from '../support/service.ts'
import { askFor, exchange, signInOnPage, visit } from '../support/sign-in-page.ts'

const service = serviceFixture()
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
const forum = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://forum.example/cb'] })

describe('signing in', () => {
  test('a password leads to the app with a code, and the code to tokens', async () => {
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

  test('a second app that the user already uses admits them without a page', async () => {
    const { user } = await buildUser(service, shop)
    await service.login(user.email, forum.code)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email)
    const asked = askFor(forum)
    const arrival = await visitor.get(asked.path)
    expect(arrival.app?.href).toContain('https://forum.example/cb?code=')
    expect((await exchange(service, forum, asked, arrival.app)).body.user.id).toBe(user.id)
  })

  test('a second app that the user has never used asks first, and names them and where they go', async () => {
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

test('of two tabs that begin at once in a new browser, the one whose cookie was replaced begins again', async () => {
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
