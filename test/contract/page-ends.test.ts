// Where a page ends: what it says of the app, and how a person goes on.
import { expect, test } from 'vitest'
import { mailingFixture } from '../support/fixtures.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildApp, buildUser } from '../support/service.ts'
import { askFor, visit } from '../support/sign-in-page.ts'

const { service, mailbox } = mailingFixture({}, { frozen: true })
const settings = {
  name: 'The Shop',
  frontend_url: 'https://shop.example.com',
  allowed_redirect_urls: ['https://shop.example.com/cb'],
  brand: { support_url: 'https://shop.example.com/help' },
}
const open = (path: string, token: string) => rawCall(service.url, 'GET', `${path}?token=${encodeURIComponent(token)}`)

test('an expired or used link names its app and leads there, and an unknown link reveals nothing', async () => {
  const app = await buildApp(service, settings)
  const { user } = await buildUser(service, app)
  const { token } = await mailbox.take(user.email)
  const body = { email: user.email, app_code: app.code }
  await service.call('POST', '/auth/password/forgot', { body })
  const reset = await mailbox.take(user.email)
  service.advance(2 * 86_400)
  for (const [path, dead] of [
    ['/verify-email', token],
    ['/reset-password', reset.token],
  ] as const) {
    const page = await open(path, dead)
    expect(page.status).toBe(400)
    expect(page.body).toContain('This link does not work')
    expect(page.body).toContain('<a class="button" href="https://shop.example.com">Go to <bdi>The Shop</bdi></a>')
    expect(page.body).toContain('<a href="https://shop.example.com/help">Help</a>')
  }
  // A token of another page, and one that never was.
  for (const other of [reset.token, 'gmt_unknown']) expect((await open('/verify-email', other)).body).not.toContain('The Shop')
})

test('an impossible request and a page that was open too long name the app', async () => {
  const app = await buildApp(service, settings)
  const visitor = visit(service)
  const wrong = await visitor.get(askFor(app, { redirect_uri: 'https://shop.example.com/other' }).path)
  expect(wrong.html).toContain('Go to <bdi>The Shop</bdi>')
  const page = await visitor.get(askFor(app).path)
  service.advance(3_601)
  const late = await visitor.send(page, 'Sign in', { email: 'a@example.com', password: 'x' })
  expect(late.title).toBe('This page is too old')
  expect(late.html).toContain('<p class="place"><bdi>The Shop</bdi></p>')
  expect(late.html).toContain('Start again')
})

test('the pages of a sign-out name the app and lead there, even after they were open too long', async () => {
  const app = await buildApp(service, settings)
  const visitor = visit(service)
  const asking = await visitor.get(`/oauth/logout?client_id=${app.code}`)
  const done = await visitor.send(asking, 'Sign out')
  expect(done.title).toBe('You are signed out')
  service.advance(3_601)
  const late = await visitor.send(asking, 'Sign out')
  expect([late.status, late.title]).toEqual([400, 'This page is too old'])
  for (const page of [asking, done, late]) expect(page.html).toContain('<p class="place"><bdi>The Shop</bdi></p>')
  expect(done.html).toContain('<a class="button" href="https://shop.example.com">Go to <bdi>The Shop</bdi></a>')
  const [, again = ''] = /<a class="button" href="([^"]*)">Start again/.exec(late.html) ?? []
  expect((await visitor.get(again.replaceAll('&#38;', '&'))).title).toBe('Sign out')
})

test('the button that deletes looks different from the one that continues', async () => {
  const app = await buildApp(service, { ...settings, frontend_url: null })
  const { user } = await buildUser(service, app)
  const { token } = await mailbox.take(user.email)
  expect((await open('/disown-email', token)).body).toContain('<button type="submit" class="harmful">')
  expect((await open('/verify-email', token)).body).toContain('<button type="submit">')
})
