// Setting up a second factor on the sign-in page, for an app that demands one.
import { expect, test } from 'vitest'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { type Arrival, askFor, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor, totpAt } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({}, { frozen: true })
const open = { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] }
const lax = appFixture(service, open)
const strict = appFixture(service, { ...open, require_two_factor: 'everyone' })

const secretIn = ({ html }: Pick<Arrival, 'html'>) => /id="secret"[^>]*>([A-Z2-7 ]+)</.exec(html)?.[1]?.replaceAll(' ', '') ?? ''
const codeFor = (page: Pick<Arrival, 'html'>) => totpAt(secretIn(page), service.deps.clock())
const send = async (visitor: Visitor, page: Arrival, step: string, more: Record<string, string> = {}) => {
  const { action, values } = page.forms.find((form) => form.values.step === step)!
  const reply = await visitor.post(new URL(action, service.url).href, { ...values, ...more })
  expect(reply.status).toBe(303)
  return visitor.get(reply.headers.get('location') ?? '')
}

/** Somebody without a second factor, on the page that asks for one. */
async function begin(parameters: Record<string, string> = {}, app = strict) {
  const { user, access_token: token } = await buildUser(service, lax)
  const visitor = visit(service)
  const asked = askFor(app, parameters)
  const page = await signInOnPage(visitor, asked, user.email)
  expect(page.title).toBe('You need a second factor')
  return { user: user as Json, token: token as string, visitor, asked, page }
}

test('the page shows a seed, takes its code, shows recovery codes once, and goes on to the app with both factors', async () => {
  const { user, visitor, asked, page } = await begin()
  const seed = await send(visitor, page, 'set_up')
  expect(seed.html).toContain('<svg class="qr"')
  expect(secretIn(seed)).toMatch(/^[A-Z2-7]{32}$/)
  const wrong = await send(visitor, seed, 'enrol', { code: '000000' })
  expect(wrong.html).toContain('aria-invalid="true"')
  expect(secretIn(wrong)).toBe(secretIn(seed))
  const codes = await send(visitor, wrong, 'enrol', { code: codeFor(wrong) })
  expect(codes.html).toContain('id="recovery-codes"')
  expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(10)
  const next = await send(visitor, codes, 'restart')
  const arrival = next.app ? next : await visitor.send(next, 'Continue')
  const { status, body } = await exchange(service, strict, asked, arrival.app)
  expect(status).toBe(200)
  expect(claimsOf(body.access_token).amr).toEqual(['pwd', 'otp', 'mfa'])
  expect((await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })).status).toBe(200)
  expect(await auditEvents(service, { event: 'two_factor.enrolled', user_id: user.id })).toMatchObject([{ app_id: strict.id }])
  expect(await auditEvents(service, { event: 'two_factor.activated', user_id: user.id })).toHaveLength(1)
  expect((await mailbox.take(user.email, /was turned on/)).subject).toBeDefined()
})

test('the recovery codes are shown only in this browser, and only for five minutes', async () => {
  const { visitor, page } = await begin()
  const seed = await send(visitor, page, 'set_up')
  const codes = await send(visitor, seed, 'enrol', { code: codeFor(seed) })
  expect(codes.html).toContain('id="recovery-codes"')
  expect((await visit(service).get(codes.url)).html).not.toContain('id="recovery-codes"')
  service.advance(301)
  expect((await visitor.get(codes.url)).html).not.toContain('id="recovery-codes"')
})

test('a seed that was set up elsewhere meanwhile is not shown, and the code of a replaced seed is refused', async () => {
  const { token, visitor, page } = await begin()
  const planted = (await service.call('POST', '/auth/2fa/setup', { token, body: { password: PASSWORD } })).body.secret
  const first = await visitor.get(page.url)
  expect(secretIn(first)).toBe('')
  const seed = await send(visitor, first, 'set_up')
  expect(secretIn(seed)).not.toBe(planted)
  await service.call('POST', '/auth/2fa/setup', { token, body: { password: PASSWORD } })
  expect(secretIn(await visitor.get(seed.url))).toBe('')
  const refused = await send(visitor, seed, 'enrol', { code: codeFor(seed) })
  expect(refused.html).not.toContain('id="recovery-codes"')
})

test('a person who signed in more than ten minutes ago signs in again first', async () => {
  const { visitor, page } = await begin()
  service.advance(601)
  expect((await visitor.get(page.url)).title).toBe('Sign in')
  const again = await send(visitor, page, 'set_up')
  expect(again.title).toBe('Sign in')
  expect(secretIn(again)).toBe('')
})

test('nobody sets up a second factor beside their own, or for another person', async () => {
  const { user, token, visitor, page } = await begin()
  const seed = await send(visitor, page, 'set_up')
  const other = await begin()
  // A form of one browser is of no use in another.
  await other.visitor.post(`${service.url}/oauth/authorize`, seed.forms.find(({ values }) => values.step === 'enrol')!.values)
  expect(await countRows(service, 'second_factors', { user_id: other.user.id })).toBe(0)
  const phone = await enableTwoFactor(service, token)
  expect((await send(visitor, seed, 'enrol', { code: phone.code() })).title).toBe('Sign in')
  expect((await service.login(user.email, lax.code, { two_factor_code: phone.code() })).status).toBe(200)
})

test('a person without a second factor sets one up for an app that asks for it in its request', async () => {
  const { visitor, asked, page } = await begin({ acr_values: 'mfa' }, lax)
  const seed = await send(visitor, page, 'set_up')
  const codes = await send(visitor, seed, 'enrol', { code: codeFor(seed) })
  const next = await send(visitor, codes, 'restart')
  const arrival = next.app ? next : await visitor.send(next, 'Continue')
  const { body } = await exchange(service, lax, asked, arrival.app)
  expect(claimsOf(body.access_token).amr).toContain('mfa')
})
