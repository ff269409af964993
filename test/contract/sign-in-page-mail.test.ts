// Mails that a person asks for on the sign-in page: a forgotten password, a sign-in without one, and a verified address.
import { describe, expect, test } from 'vitest'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import type { Mail } from '../support/mailbox.ts'
import { allSent } from '../support/mailbox.ts'
import { countRows, markVerified } from '../support/rows.ts'
import { buildUser, claimsOf, PASSWORD, someEmail } from '../support/service.ts'
import { type Arrival, askFor, countedSignIns, exchange, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({}, { frozen: true })
const allowed_redirect_urls = ['https://shop.example/callback']
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls })
const strict = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls, require_verified_email: true })
const hosted = appFixture(service, {
  auto_grant_on_signup: true,
  allowed_redirect_urls,
  frontend_url: 'https://www.shop.example',
})
const newPassword = 'another long passphrase'
const subjects = { 'Forgot password?': /^Set a new password/, 'E-mail me a code': /^Sign in to/ }

test.each(Object.keys(subjects))('the button "%s" keeps the typed address and needs no password', async (button) => {
  const visitor = visit(service)
  const page = await visitor.get(askFor(shop).path)
  const asked = await visitor.send(page, button, { email: 'ada@example.com' })
  expect(asked.forms[0]!.values).toMatchObject({ email: 'ada@example.com', step: 'ask_mail' })
})

/** Somebody who has proven the mailbox. */
async function build(app = shop) {
  const built = await buildUser(service, app)
  await markVerified(service, built.user.id)
  return built
}

async function askOnPage(visitor: Visitor, button: keyof typeof subjects, email: string, asked = askFor(shop)) {
  const first = await visitor.get(asked.path)
  const page = await visitor.send(await visitor.send(first, button), 'Send the code', { email })
  expect(page.title).toBe('Check your mail')
  return { asked, page }
}

async function mailedBy(button: keyof typeof subjects, visitor: Visitor, email: string, asked = askFor(shop)) {
  const { page } = await askOnPage(visitor, button, email, asked)
  const mail = await mailbox.take(email, subjects[button])
  return { asked, page, mail, code: codeIn(mail), path: pathOf(mail) }
}

const codeIn = ({ text }: Mail) => /: (\d{6})$/m.exec(text)?.[1] ?? ''
const pathOf = ({ links }: Mail) => {
  const { pathname, search } = new URL(links[0] ?? '')
  return pathname + search
}
const wrong = (code: string, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, '0')
const isSignedIn = ({ cookies }: Visitor) => cookies.has('gatehouse_session')

test.each([
  ['a code from a mail', 'E-mail me a code', 'Sign in', {}],
  ['a new password', 'Forgot password?', 'Set the new password', { password: newPassword }],
] as const)('"Keep me signed in" holds for a sign-in with %s', async (_, asks, button, fields) => {
  const { user } = await build()
  const visitor = visit(service)
  const { page, code } = await mailedBy(asks, visitor, user.email)
  await visitor.send(page, button, { ...fields, code, keep: 'yes' })
  expect(await service.deps.db('browser_sessions').where({ user_id: user.id }).first('is_kept')).toMatchObject({ is_kept: 1 })
})

test('"Keep me signed in" holds for a new account', async () => {
  const visitor = visit(service)
  const email = someEmail()
  const page = await visitor.send(await visitor.get(askFor(shop).path), 'Create account')
  await visitor.send(page, 'Create account', { email, password: PASSWORD, keep: 'yes' })
  const { id: user_id } = await service.deps.db('users').where({ email }).first('id')
  expect(await service.deps.db('browser_sessions').where({ user_id }).first('is_kept')).toMatchObject({ is_kept: 1 })
})

describe('a code to sign in with', () => {
  test('a code signs in once, in the browser that asked for it', async () => {
    const { user } = await build()
    const visitor = visit(service)
    const { page, code, asked } = await mailedBy('E-mail me a code', visitor, user.email)
    const { success: before = 0 } = await countedSignIns(service, 'email_code')
    const arrival = await visitor.send(page, 'Sign in', { code: `${code.slice(0, 3)} ${code.slice(3)}` })
    expect(await countedSignIns(service, 'email_code')).toMatchObject({ success: before + 1 })
    const { body } = await exchange(service, shop, asked, arrival.app)
    expect(body.user.id).toBe(user.id)
    expect(claimsOf(body.access_token)).toMatchObject({ amr: [] })
    visitor.cookies.delete('gatehouse_session')
    expect((await visitor.send(page, 'Sign in', { code })).title).toBe('Sign in')
    expect(isSignedIn(visitor)).toBe(false)
  })

  test('a code is worthless in another browser, even if that one has asked for a code too', async () => {
    const { user } = await build()
    const { code } = await mailedBy('E-mail me a code', visit(service), user.email)
    const thief = visit(service)
    const { page } = await askOnPage(thief, 'E-mail me a code', someEmail())
    expect((await thief.send(page, 'Sign in', { code })).html).toContain('is wrong')
    expect(isSignedIn(thief)).toBe(false)
  })

  test('a code can be guessed five times for an address, even if it is sent again; a known device has its own tries', async () => {
    const { user } = await build()
    const known = visit(service)
    await signInOnPage(known, askFor(shop), user.email)
    known.cookies.delete('gatehouse_session')
    const thief = visit(service)
    const { page: first, code } = await mailedBy('E-mail me a code', thief, user.email)
    let page: Arrival = first
    for (const _ of [1, 2, 3]) page = await thief.send(page, 'Sign in', { code: wrong(code) })
    page = await thief.send(page, 'Send it again')
    const again = codeIn(await mailbox.take(user.email, /^Sign in to/))
    for (const _ of [4, 5]) page = await thief.send(page, 'Sign in', { code: wrong(again) })
    page = await thief.send(page, 'Sign in', { code: again })
    expect(page.html).toContain('locked')
    expect(isSignedIn(thief)).toBe(false)
    const { page: own, code: ownCode } = await mailedBy('E-mail me a code', known, user.email)
    expect((await known.send(own, 'Sign in', { code: ownCode })).app?.href).toContain('code=')
  })

  test('sixty concurrent tries get no more guesses of a code', async () => {
    const { user } = await build()
    const thief = visit(service)
    const { page, code } = await mailedBy('E-mail me a code', thief, user.email)
    const { values } = page.forms.find(({ buttons }) => buttons.has('Sign in'))!
    const codes = [...Array.from({ length: 59 }, (_, index) => wrong(code, index + 1)), code]
    await Promise.all(codes.map((code) => thief.post(`${service.url}/oauth/authorize`, { ...values, code })))
    expect(await countRows(service, 'browser_sessions', { user_id: user.id })).toBe(0)
  })

  test('many device tokens of the person who registered the address get no more guesses of a code', async () => {
    const { user } = await buildUser(service, shop)
    const signIn = async () => {
      const visitor = visit(service)
      await signInOnPage(visitor, askFor(shop), user.email)
      return visitor.cookies.get('gatehouse_device')!
    }
    const devices = [await signIn(), await signIn()]
    const thief = visit(service)
    const { page, code } = await mailedBy('E-mail me a code', thief, user.email)
    const answers: boolean[] = []
    for (const [index, device] of devices.flatMap((device) => Array(5).fill(device)).entries()) {
      thief.cookies.set('gatehouse_device', device)
      answers.push((await thief.send(page, 'Sign in', { code: wrong(code, index + 1) })).html.includes('is wrong'))
    }
    expect(answers.filter(Boolean).length).toBe(5)
  })

  test('each lock after wrong codes lasts longer than the one before, even after a cleanup', async () => {
    const { user } = await build()
    const guess = async (count: number) => {
      const thief = visit(service)
      const { page, code } = await mailedBy('E-mail me a code', thief, user.email)
      let last: Arrival = page
      for (let by = 1; by <= count; by += 1) last = await thief.send(page, 'Sign in', { code: wrong(code, by) })
      return last.html
    }
    await guess(5)
    service.advance(901)
    await removeExpired(service.deps)
    await guess(5)
    service.advance(901)
    expect(await guess(1)).toContain('locked')
    service.advance(900)
    expect(await guess(1)).toContain('is wrong')
  })

  test('the page asks for the second factor before it spends the code', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const visitor = visit(service)
    const { page, code, asked } = await mailedBy('E-mail me a code', visitor, user.email)
    const second = await visitor.send(page, 'Sign in', { code })
    expect(second.title).toBe('Enter your code')
    expect([isSignedIn(visitor), await unspent(user.id)]).toEqual([false, 1])
    const wrongly = await visitor.send(second, 'Continue', { two_factor_code: authenticator.wrongCode() })
    expect([wrongly.title, await unspent(user.id)]).toEqual(['Enter your code', 1])
    const arrival = await visitor.send(wrongly, 'Continue', { two_factor_code: authenticator.code() })
    expect(await unspent(user.id)).toBe(0)
    const { body } = await exchange(service, shop, asked, arrival.app)
    expect(claimsOf(body.access_token)).toMatchObject({ amr: ['otp', 'mfa'] })
  })

  test('an unknown address gets the same page and the same refusal, and no mail', async () => {
    const { user } = await build()
    const seen = async (email: string) => {
      const visitor = visit(service)
      const { page } = await askOnPage(visitor, 'E-mail me a code', email)
      const refused = await visitor.send(page, 'Sign in', { code: '000000' })
      return [page, refused].map(({ html, status }) => [status, html.replaceAll(email, '').replace(/value="[^"]*"/g, '')])
    }
    const unknown = someEmail()
    expect(await seen(unknown)).toEqual(await seen(user.email))
    await allSent(service)
    expect(mailbox.mailsTo(unknown)).toEqual([])
  })
})

describe('the link in a mail that was asked for on the page', () => {
  test('the link signs in after a button, in the browser that asked for the mail', async () => {
    const { user } = await build()
    const visitor = visit(service)
    const { path, asked } = await mailedBy('E-mail me a code', visitor, user.email)
    const page = await visitor.get(path)
    expect(isSignedIn(visitor)).toBe(false)
    const arrival = await visitor.send(page, 'Sign in')
    expect((await exchange(service, shop, asked, arrival.app)).body.user.id).toBe(user.id)
  })

  test('the link opens nothing in another browser, and says where to type the code', async () => {
    const { user } = await build()
    const { path } = await mailedBy('E-mail me a code', visit(service), user.email)
    const other = visit(service)
    await other.get(askFor(shop).path)
    const page = await other.get(path)
    expect(page.title).toBe('Type the code where you asked for it')
    expect([page.forms, isSignedIn(other), await unspent(user.id)]).toEqual([[], false, 1])
  })

  test('the link sets the new password in another browser, and signs nobody in there', async () => {
    const { user } = await build()
    const { path } = await mailedBy('Forgot password?', visit(service), user.email)
    const other = visit(service)
    const page = await other.get(path)
    expect(new URL(page.url).pathname).toBe('/reset-password')
    const done = await other.send(page, 'Set the new password', { password: newPassword, password_again: newPassword })
    expect(done.title).toBe('Your new password is set')
    expect(isSignedIn(other)).toBe(false)
  })

  test('the link leads to the frontend of an app that has one', async () => {
    const { user } = await build(hosted)
    const { mail, code } = await mailedBy('Forgot password?', visit(service), user.email, askFor(hosted))
    expect(mail.links[0]).toMatch(/^https:\/\/www\.shop\.example\/reset-password\?token=/)
    expect(code).toMatch(/^\d{6}$/)
  })
})

describe('a forgotten password', () => {
  test('a code replaces a forgotten password, and the browser goes on to the app', async () => {
    const { user } = await build()
    const visitor = visit(service)
    const { page, code, asked } = await mailedBy('Forgot password?', visitor, user.email)
    const short = await visitor.send(page, 'Set the new password', { code, password: 'short' })
    expect(short.title).toBe('Check your mail')
    const arrival = await visitor.send(short, 'Set the new password', { code, password: newPassword })
    expect((await exchange(service, shop, asked, arrival.app)).body.user.id).toBe(user.id)
    expect((await service.login(user.email, shop.code, { password: PASSWORD })).status).toBe(401)
  })

  test('a code for a forgotten password opens nothing without the second factor', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const visitor = visit(service)
    const { page, code } = await mailedBy('Forgot password?', visitor, user.email)
    const second = await visitor.send(page, 'Set the new password', { code, password: newPassword })
    expect([second.title, isSignedIn(visitor)]).toEqual(['Enter your code', false])
    const arrival = await visitor.send(second, 'Continue', { two_factor_code: authenticator.code() })
    expect(arrival.app?.searchParams.get('code')).toBeTruthy()
  })
})

describe('an app that asks for a verified address', () => {
  test('a signed-in person verifies their address with the code of a mail', async () => {
    const { user } = await buildUser(service, strict)
    await mailbox.take(user.email)
    const visitor = visit(service)
    const asked = askFor(strict)
    const refused = await signInOnPage(visitor, asked, user.email)
    expect(refused.title).toBe('Verify your e-mail address')
    const page = await visitor.send(refused, 'Send me a code')
    const code = codeIn(await mailbox.take(user.email, /^Confirm/))
    const wrongly = await visitor.send(page, 'Confirm', { code: wrong(code) })
    expect(wrongly.html).toContain('is wrong')
    const next = await visitor.send(wrongly, 'Confirm', { code })
    const arrival = next.app ? next : await visitor.send(next, 'Continue')
    expect((await exchange(service, strict, asked, arrival.app)).body.user).toMatchObject({ id: user.id, email_verified: true })
  })
})

const unspent = (userId: string) => countRows(service, 'mail_tokens', { user_id: userId, spent_at: null, purpose: 'magic_link' })
