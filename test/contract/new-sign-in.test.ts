// The mail about a sign-in on the page from a browser that is not known, and the page that its link leads to.
import { expect, test } from 'vitest'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent } from '../support/mailbox.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { buildUser, PASSWORD } from '../support/service.ts'
import { askFor, visit } from '../support/sign-in-page.ts'

const { service, mailbox } = mailingFixture({}, { frozen: true })
const shop = appFixture(service, {
  name: 'The Shop',
  auto_grant_on_signup: true,
  allowed_redirect_urls: ['https://shop.example/callback'],
})
const subject = /^New sign-in to The Shop$/

/** Somebody who has signed in before, by the API. */
async function someone() {
  const { user, access_token: token } = await buildUser(service, shop)
  await markVerified(service, user.id)
  return { user, email: user.email as string, token }
}

/** Signs in in a browser and returns it. */
async function signIn(email: string, visitor = visit(service), headers = {}) {
  const page = await visitor.get(askFor(shop).path, headers)
  const values = { email, password: PASSWORD }
  const arrival = await visitor.send(page, 'Sign in', values, headers)
  expect(arrival.app ?? arrival.title).toBeDefined()
  expect(visitor.cookies.has('gatehouse_session')).toBe(true)
  return visitor
}

async function mailsAbout(email: string) {
  await allSent(service)
  return mailbox.mailsTo(email).filter((mail) => subject.test(mail.subject))
}

test('a sign-in from an unknown browser is mailed, with browser and place', async () => {
  const { email } = await someone()
  const userAgent =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
  await signIn(email, visit(service), { 'user-agent': userAgent })
  const [mail, ...others] = await mailsAbout(email)
  expect(others).toEqual([])
  expect(mail?.text).toMatch(/When and where: Chrome on Windows,[\s\S]*UTC,\s+from\s+127\.0\.0\.1/)
  expect(new URL(mail?.links[0] ?? '').pathname).toBe('/secure-account')
})

test('the first sign-in of a user is not mailed', async () => {
  const email = 'new.here@example.com'
  await service.admin('POST', '/admin/users', { body: { email, password: PASSWORD } })
  await signIn(email)
  expect(await mailsAbout(email)).toEqual([])
})

test('a known browser causes no mail, and a second unknown browser causes one only after a day', async () => {
  const { email } = await someone()
  const known = await signIn(email)
  expect(await mailsAbout(email)).toHaveLength(1)
  known.cookies.delete('gatehouse_session')
  service.advance(86_400)
  await signIn(email, known)
  expect(await mailsAbout(email)).toHaveLength(1)
  await signIn(email)
  await signIn(email)
  expect(await mailsAbout(email)).toHaveLength(2)
})

test('concurrent sign-ins from several browsers cause one mail', async () => {
  const { email } = await someone()
  await Promise.all(Array.from({ length: 4 }, () => signIn(email)))
  expect(await mailsAbout(email)).toHaveLength(1)
})

test('opening the link changes nothing, and its button ends every session, removes the password and mails a reset', async () => {
  const { email, user, token } = await someone()
  const thief = await signIn(email)
  const [mail] = await mailsAbout(email)
  const owner = visit(service)
  const { pathname, search } = new URL(mail?.links[0] ?? '')
  const before = await countRows(service, 'outbox')
  const page = await owner.get(pathname + search)
  await owner.get(pathname + search)
  expect(page.title).toBe('Was this not you?')
  expect((await service.call('GET', '/auth/me', { token })).status).toBe(200)
  expect(await countRows(service, 'outbox')).toBe(before)
  // A sign-in that somebody has asked for before.
  await service.call('POST', '/auth/magic-link', { body: { email, app_code: shop.code } })
  const link = new URL((await mailbox.take(email, /^Sign in to The Shop/)).links[0] ?? '')
  const done = await owner.send(page, 'End every session')
  expect(done.title).toBe('Every session has ended')
  expect((await service.call('GET', '/auth/me', { token })).status).toBe(401)
  expect((await thief.get(askFor(shop).path)).title).toMatch(/^Sign in/)
  expect((await service.login(email, shop.code)).body).toMatchObject({ code: 'invalid_credentials' })
  expect((await mailbox.take(email, /^Set a new password/)).text).toContain('/reset-password')
  const late = await service.call('POST', '/auth/magic-link/consume', { body: { token: link.searchParams.get('token') } })
  expect(late.body).toMatchObject({ code: 'invalid_token' })
  const again = await owner.get(pathname + search)
  expect(again.status).toBe(400)
  const events = await service.deps.db('audit_events').where({ user_id: user.id }).pluck('event')
  expect(events).toEqual(expect.arrayContaining(['logout.all', 'credentials.removed']))
})
