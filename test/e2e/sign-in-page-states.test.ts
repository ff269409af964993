// Every state of the sign-in page in a real Chromium: axe finds nothing, nothing is cut off, and `npm run pictures` takes
// a picture of each. The full lane shows each in every language too.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { ApiError } from '../../packages/server/src/errors.ts'
import { enteredView, invitationView } from '../../packages/server/src/flows/mail-links/invitation.ts'
import * as views from '../../packages/server/src/flows/mail-links/mail-link-views.ts'
import { errorForBrowser, errorOfPage, showPage } from '../../packages/server/src/http/speak/page.ts'
import { languages } from '../../packages/server/src/lib/locale.ts'
import { type FormRefusal, wayOn } from '../../packages/server/src/pages/fields.ts'
import type { PageTexts } from '../../packages/server/src/pages/texts/page-texts.ts'
import { textsIn } from '../../packages/server/src/pages/texts/texts-for.ts'
import { openBrowser } from '../support/browser.ts'
import { PASSWORD, someEmail } from '../support/client.ts'
import { pictured } from '../support/contact-sheet.ts'
import { addMember, buildInvitation, buildOrganization, closeAccount } from '../support/factories.ts'
import { appFixture, fixture, mailingFixture } from '../support/fixtures.ts'
import { buildLogo } from '../support/images.ts'
import { isFastLane } from '../support/lane.ts'
import type { Mail } from '../support/mailbox.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildSsoProvider, startProvider } from '../support/provider.ts'
import { markVerified } from '../support/rows.ts'
import { buildApp, buildUser, type Json } from '../support/service.ts'
import { askFor } from '../support/sign-in-page.ts'
import { enableTwoFactor, totpAt } from '../support/totp.ts'

/** The folder for pictures. Without it none are taken. */
const asked = process.env.SCREENSHOTS
const browser = openBrowser()

const { service: unnamed, mailbox } = mailingFixture({}, { frozen: true })
/** A service that browsers know as `localhost`. */
const service = fixture(async () => {
  unnamed.deps.config.publicUrl = unnamed.url.replace('127.0.0.1', 'localhost')
  return unnamed
})
const urlOfService = () => service.deps.config.publicUrl

const back = 'http://shop.example/callback'
const open = { auto_grant_on_signup: true, allowed_redirect_urls: [back] }
/** Answers for every other host, as a proxy: `page.route` does not see where a form is redirected to. */
const appServer = await new Promise<string>((resolve) => {
  const server = createServer((_, reply) => reply.end('This is the app.'))
  server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  onFileEnd(async () => void server.close())
})
const brand = { accent_color: '#c2410c', support_email: 'help@shop.example', terms_url: 'https://shop.example/terms' }
const shop = fixture(async () => {
  const app = await buildApp(service, { ...open, name: 'The Shop', brand, trust_device_days: 7 })
  const logo = { body: buildLogo([194, 65, 12]), headers: { 'content-type': 'image/png' } }
  expect((await service.admin('PUT', `/admin/apps/${app.id}/logo`, logo)).status).toBeLessThan(300)
  return app
})
const forum = appFixture(service, { ...open, name: 'The Forum', frontend_url: 'https://forum.example' })
const strict = appFixture(service, { ...open, name: 'The Archive', require_verified_email: true })
const vault = appFixture(service, { allowed_redirect_urls: [back], name: 'The Vault' })
const tv = appFixture(service, { ...open, name: 'The Television', device_grant: true })
const gallery = appFixture(service, { ...open, name: 'The Gallery' })
const acme = fixture(async () => {
  const callbacks = ['acme', 'stranger'].map((code) => `${urlOfService()}/api/v1/auth/sso/${code}/callback`)
  const started = await startProvider(callbacks, onFileEnd)
  await buildSsoProvider(service, 'acme', { issuer: started.issuer, app_codes: [gallery.code] })
  await buildSsoProvider(service, 'stranger', { issuer: started.issuer, app_codes: [gallery.code], trusted_email_domains: [] })
  await buildSsoProvider(service, 'gone', { issuer: 'http://127.0.0.1:1', app_codes: [gallery.code] })
  return started
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const signInUrl = (app: Json, parameters: Record<string, string | undefined> = {}) =>
  urlOfService() + askFor(app, parameters).path
const beginAt = (page: Page, app: Json, parameters: Record<string, string | undefined> = {}) =>
  page.goto(signInUrl(app, parameters))
const arrived = (page: Page) => page.waitForURL(`${back}?**`)

/** Somebody whose address is as long as any that a page has to show. */
async function build(app: Json = shop) {
  const built = await buildUser(service, app, { email: `a.rather-long-name.${someEmail()}` })
  await markVerified(service, built.user.id)
  return built
}

async function fillIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

/** A tab in a new profile, which shows a page of the app when it is led there. */
async function newPage(): Promise<Page> {
  const page = await browser.newPage({ proxy: { server: appServer, bypass: 'localhost, 127.0.0.1' } })
  await page.addInitScript(axe.source)
  return page
}

async function signedIn(email: string, app: Json = shop): Promise<Page> {
  const page = await newPage()
  await beginAt(page, app)
  await fillIn(page, email)
  await arrived(page)
  return page
}

/**
 * Run in the page: what reaches over the edge, is cut off, lies over something else, or is smaller than a finger needs (24 px, WCAG
 * 2.5.8). A label counts to the target of its checkbox or radio button.
 */
const layoutFaults = `(() => {
  const found = []
  const describe = (element) => element.tagName.toLowerCase() + ' ' + (element.name || element.textContent.trim()).slice(0, 30)
  if (document.documentElement.scrollWidth > innerWidth) found.push('the page scrolls sideways')
  const shown = [...document.querySelectorAll('h1, p, label, legend, input, button, a, select')].filter(
    (element) => element.getClientRects().length > 0 && element.type !== 'hidden',
  )
  for (const element of shown) {
    const { left, right, width, height } = element.getBoundingClientRect()
    if (left < 0 || right > innerWidth) found.push(describe(element) + ' reaches over the edge')
    if (element.tagName !== 'INPUT' && element.scrollWidth > Math.ceil(element.clientWidth) && element.clientWidth > 0)
      found.push(describe(element) + ' is cut off')
    if (!element.matches('input, button, select, a.button')) continue
    const label = element.matches('[type=checkbox], [type=radio]') ? element.labels?.[0]?.getBoundingClientRect() : undefined
    const [wide, high] = label ? [width + label.width, Math.max(height, label.height)] : [width, height]
    if (wide < 24 || high < 24) found.push(describe(element) + ' is too small: ' + wide + ' x ' + high)
  }
  for (const [index, one] of shown.entries())
    for (const other of shown.slice(index + 1)) {
      if (one.contains(other) || other.contains(one)) continue
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()]
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)
      if (wide > 1 && high > 1) found.push(describe(one) + ' lies over ' + describe(other))
      if (wide > 1 && high > -8 && [one, other].every((element) => element.matches('button, a.button')))
        found.push(describe(one) + ' touches ' + describe(other))
    }
  return found
})()`

/** Each state is shown in all of them. The fast lane leaves out the dark colors and the other languages, pictures the languages. */
const schemes = isFastLane ? (['light'] as const) : (['light', 'dark'] as const)
const widths = [360, 1280]

const others = isFastLane || asked !== undefined ? [] : languages.filter((language) => language !== 'en')
/** Gets the document of a state once more, as a browser asks for it whose reader prefers a language. */
type Again = (headers: Record<string, string>, language: string) => Promise<{ text(): Promise<string> }>

/** Words that no other language of ours has. */
const english =
  /(?<![\p{L}\p{N}-])(the|you|your|this|that|and|is|are|of|to|with|from|have|not|be|been|sign|enter|choose|new|back|again|address|open|ask|forgot|create|send|too|many|already|there)(?![\p{L}\p{N}-])/iu

/** Run in the page: what it says, without what others have named. */
const words = `(() => {
  const copy = document.documentElement.cloneNode(true)
  for (const element of copy.querySelectorAll('bdi, code, style, script, textarea, [lang=en]:not(html)')) element.remove()
  return copy.textContent.replaceAll(/\\S+@\\S+/g, '').replaceAll(/The (Shop|Forum|Archive|Vault|Gallery|Television|Old App|phone [^\\n]* page)|Acme|Stranger|Gone/g, '')
})()`

/** For each tab, one in another profile that shows its states in other languages. */
const besides = new WeakMap<Page, Promise<Page>>()

async function openBeside(): Promise<Page> {
  const beside = await browser.newPage({ viewport: { width: 320, height: 800 } })
  await beside.goto('about:blank')
  return beside
}

/**
 * Run in the page: what a missing text leaves without a name. The languages share their elements and colors, at which axe looks in
 * English.
 */
const nameless = `[...document.querySelectorAll('button, a, h1, h2, h3, legend, label, select, textarea, input:not([type=hidden])')]
  .filter((element) => !((element.labels?.[0] ?? element).textContent.trim() || element.ariaLabel))
  .map((element) => element.outerHTML)`

/** Shows a state in all other languages, 320 pixels wide. */
async function lookInLanguages(page: Page, name: string, again: Again): Promise<void> {
  if (others.length === 0) return
  const opened = besides.get(page) ?? openBeside()
  besides.set(page, opened)
  const beside = await opened
  const title = await page.title()
  for (const language of others) {
    const state = `${name} in ${language}`
    await beside.setContent(await (await again({ 'accept-language': language }, language)).text())
    const [lang, shownTitle, faults, said] = await beside.evaluate<[string, string, unknown[], string]>(
      `[document.documentElement.lang, document.title, [...${layoutFaults}, ...${nameless}], ${words}]`,
    )
    expect([lang, shownTitle, faults], state).toEqual([language, expect.not.stringMatching(title), []])
    expect(said, state).not.toMatch(english)
    expect(said, state).not.toMatch(/\bundefined\b|\bnull\b|\bNaN\b|\[object|\$\{|[{}]/)
  }
}

/** The dark page differs in its colors alone. */
const rulesIn = (colorScheme: 'light' | 'dark') => (colorScheme === 'light' ? '' : "runOnly: ['color-contrast']")

async function findViolations(page: Page, options = ''): Promise<unknown[]> {
  const { violations } = await page.evaluate<AxeResults>(`axe.run({ preload: false, ${options} })`)
  return violations.map(({ id, nodes }) => [id, nodes[0]?.html])
}

/**
 * Checks the page that is shown, and takes its pictures. The text tells the state from others with the same heading. `again` is for a
 * state that was not got by its URL alone.
 */
async function look(page: Page, name: string, title: string, text?: string, again?: Again): Promise<void> {
  if (asked === undefined) expect(pictured, 'npm run pictures').toContain(name)
  await heading(page, title)
  if (text !== undefined) await page.getByText(text).first().waitFor()
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme })
    for (const width of widths) {
      await page.setViewportSize({ width, height: width === 360 ? 320 : 800 })
      if (asked !== undefined) await page.screenshot({ path: join(asked, `${name}-${colorScheme}-${width}.png`), fullPage: true })
      if (colorScheme === 'light') expect(await page.evaluate(layoutFaults), `${name} at ${width}`).toEqual([])
    }
    expect(await findViolations(page, rulesIn(colorScheme)), `${name}, ${colorScheme}`).toEqual([])
  }
  const byUrl: Again = (headers, language) =>
    page.request.get(page.url().replace(/ui_locales=en/, `ui_locales=${language}`), { headers })
  await lookInLanguages(page, name, again ?? byUrl)
}

/** A form that is sent once more, with other languages. */
function sendAgain(page: Page, path: string, form: Record<string, string> = {}, site = 'same-origin'): Again {
  return (headers) =>
    page.request.post(urlOfService() + path, { form, headers: { ...headers, 'sec-fetch-site': site }, maxRedirects: 0 })
}

// Before the clock of the service goes ahead of the provider's.
test('each state of connecting an account on the account page can be seen and read', async () => {
  const [{ user }, { user: other }] = [await build(gallery), await build(gallery)]
  const page = await newPage()
  const section = `${urlOfService()}/account/identities?app=${gallery.code}`
  const subject = acme.addAccount({ email: user.email, email_verified: true })
  /** Sends the form of the page, and comes back from the provider. */
  const connect = async (on: Page) => {
    const values = await on.locator('form', { hasText: 'Connect Acme' }).evaluate((form) => [
      // @ts-expect-error Run in the page, whose types are not here.
      ...new FormData(form),
    ])
    const form = Object.fromEntries(values as [string, string][])
    const sent = { form, headers: { origin: urlOfService() }, maxRedirects: 0 }
    const away = (await on.request.post(section.split('?')[0]!, sent)).headers().location ?? ''
    await on.goto((await acme.logIn(away, subject)).href)
  }
  await page.goto(section)
  await fillIn(page, user.email)
  await look(page, 'account-connect', 'Connected accounts', 'Connect Acme')
  // There and back in the browser: the page allows its form to lead there.
  await press(page, 'Connect Acme')
  await look(page, 'account-connect-denied', 'Connected accounts', 'The provider did not sign you in.')
  await press(page, 'Connect Gone')
  await look(page, 'account-connect-failed', 'Connected accounts', 'Nothing was connected. Try again later.')
  await connect(page)
  await look(page, 'account-connected', 'Connected accounts', 'The account is connected.')
  const second = await newPage()
  await second.goto(section)
  await fillIn(second, other.email)
  await connect(second)
  await look(second, 'account-connect-taken', 'Connected accounts', 'Somebody else here is connected with that account.')
})

test('each state of the sign-in form, the second factor and the choice of organization can be seen and read', async () => {
  const { user, access_token } = await build()
  const page = await newPage()
  await beginAt(page, shop)
  await look(page, 'password', 'Sign in')
  await fillIn(page, user.email, 'a slip of the finger')
  await look(page, 'password-refused', 'Sign in', 'The e-mail address or the password is wrong.')
  const phone = await enableTwoFactor(service, access_token)
  await fillIn(page, user.email)
  await look(page, 'code', 'Enter your code')
  await page.getByLabel('Two-factor code').fill(phone.wrongCode())
  await press(page, 'Continue')
  await look(page, 'code-refused', 'Enter your code', 'is wrong or was already used')
  await page.getByLabel('Two-factor code').fill(phone.code())
  await press(page, 'Continue')
  await arrived(page)
  await beginAt(page, forum)
  await look(page, 'continue', 'Continue to The Forum')
  for (let i = 0; i < 2; i += 1) {
    const organization = await buildOrganization(service)
    await addMember(service, organization.id, user.id, ['org_admin'])
  }
  await beginAt(page, shop)
  await look(page, 'organization', 'Choose an organization')
  await page.goto(`${urlOfService()}/oauth/logout?client_id=${forum.code}`)
  await look(page, 'sign-out', 'Sign out')
  await press(page, 'Sign out')
  await look(page, 'signed-out', 'You are signed out')
})

test('each state of allowing a device to sign in can be seen and read', async () => {
  const { user } = await build(tv)
  const begin = async () => {
    const form = { client_id: tv.code }
    const reply = await fetch(`${urlOfService()}/oauth/device_authorization`, { method: 'POST', body: new URLSearchParams(form) })
    return ((await reply.json()) as Json).user_code as string
  }
  const page = await newPage()
  await page.goto(`${urlOfService()}/device?app=${tv.code}`)
  await fillIn(page, user.email)
  const type = async (code: string) => {
    await page.getByLabel('Code').fill(code)
    await press(page, 'Continue')
  }
  await look(page, 'device-code', 'Sign in on a device')
  await type('BCDF-GHJK')
  await look(page, 'device-code-wrong', 'Sign in on a device', 'No device waits with this code.')
  await type(await begin())
  await look(page, 'device-allow', 'Allow sign-in to The Television?')
  await press(page, 'Allow')
  await look(page, 'device-allowed', 'The device is signed in')
  await page.goto(`${urlOfService()}/device?app=${tv.code}`)
  await type(await begin())
  await press(page, 'Deny')
  await look(page, 'device-denied', 'The device is not signed in')
})

test('each state of a new account and of an invitation can be seen and read', async () => {
  const page = await newPage()
  await beginAt(page, shop, { prompt: 'create' })
  await look(page, 'create', 'Create your account')
  await page.getByLabel('E-mail address').fill('no address at all')
  await page.evaluate('document.forms[0].noValidate = true')
  await press(page, 'Create account')
  await look(page, 'create-refused', 'Create your account', 'E-mail address must be an e-mail address')
  const { user } = await build()
  await page.getByLabel('E-mail address').fill(user.email)
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Create account')
  await look(page, 'create-taken', 'Create your account', 'There is already an account with this e-mail address.')
  const organization = await buildOrganization(service)
  const invite = await buildInvitation(service, { organizationId: organization.id })
  await beginAt(page, shop, { invite })
  await look(page, 'invited', 'Sign in', 'You are invited to')
  await fillIn(page, user.email)
  await look(page, 'join', `Join ${organization.name}`)
})

test('each state of the enrolment that an app requires can be seen and read', async () => {
  const demanding = await buildApp(service, { ...open, name: 'The Vault', require_two_factor: 'everyone' })
  const { user } = await build()
  const page = await signedIn(user.email)
  await beginAt(page, demanding)
  await look(page, 'second-factor-demanded', 'You need a second factor', 'The Vault asks for a second factor')
  await press(page, 'Set up a second factor')
  await look(page, 'second-factor-set-up', 'Set up your authenticator app')
  await page.getByLabel('Code that the app shows').fill('000000')
  await press(page, 'Turn on')
  await look(page, 'second-factor-set-up-refused', 'Set up your authenticator app')
  await turnOn(page)
  await look(page, 'second-factor-codes', 'Your recovery codes')
})

async function turnOn(page: Page): Promise<void> {
  const secret = (await page.locator('#secret').textContent())?.replaceAll(' ', '') ?? ''
  await page.getByLabel('Code that the app shows').fill(totpAt(secret, service.deps.clock()))
  await press(page, 'Turn on')
}

test('the recovery codes lead on to an app that the person has entered before', async () => {
  const { user } = await build()
  const page = await signedIn(user.email)
  await beginAt(page, shop, { acr_values: 'mfa' })
  await press(page, 'Set up a second factor')
  await turnOn(page)
  await heading(page, 'Your recovery codes')
  await press(page, 'Continue')
  await arrived(page)
})

test('each page for a person whom the app does not admit can be seen and read', async () => {
  const { user } = await build()
  const page = await signedIn(user.email)
  await beginAt(page, shop, { acr_values: 'mfa' })
  await look(page, 'second-factor-missing', 'You need a second factor')
  await beginAt(page, vault)
  await look(page, 'no-access', 'You don’t have access yet')
  await press(page, 'Ask for access')
  await look(page, 'no-access-asked', 'You don’t have access yet', 'You have asked for access.')
  const { id: organization_id } = await buildOrganization(service)
  await beginAt(page, shop, { organization_id })
  await look(page, 'no-member', 'You are not a member of this organization')
  const elsewhere = await buildApp(service, { ...open, name: 'Elsewhere', registration_namespace: 'another-pool' })
  await beginAt(page, elsewhere)
  await look(page, 'unknown-account', 'This account is not known here')
  const unverified = { email_verified_at: null, first_verified_at: null, mailbox_proven_at: null }
  await service.deps.db('users').where({ id: user.id }).update(unverified)
  await beginAt(page, vault)
  await look(page, 'no-access-unverified', 'You don’t have access yet', 'once your address is verified')
  await beginAt(page, strict)
  await look(page, 'unverified', 'Verify your e-mail address')
  await press(page, 'Send me a code')
  await look(page, 'unverified-mailed', 'Check your mail')
  await service.admin('PATCH', `/admin/apps/${elsewhere.id}`, { body: { status: 'inactive' } })
  await beginAt(page, elsewhere)
  await look(page, 'app-off', 'This app is switched off')
  await closeAccount(service, user.id, 'suspended')
  await beginAt(page, shop)
  await fillIn(page, user.email)
  await look(page, 'suspended', 'Sign in', 'This account is suspended. Ask the people who run The Shop what you can do.')
})

test('each page for limited attempts can be seen and read', async () => {
  const { user } = await build()
  const page = await newPage()
  for (let i = 0; i < 10; i += 1) await service.login(user.email, shop.code, { password: 'a slip of the finger' })
  await beginAt(page, shop)
  await fillIn(page, user.email)
  await look(page, 'locked', 'Sign in', 'This account is locked after too many failed attempts.')
  const { config } = service.deps
  const { accountLimit, ipLimit } = config
  onTestFinished(() => void Object.assign(config, { accountLimit, ipLimit }))
  config.accountLimit = { count: 1, seconds: 60 }
  const email = someEmail()
  await fillIn(page, email, 'a slip of the finger')
  await heading(page, 'Sign in')
  await fillIn(page, email, 'a slip of the finger')
  await look(page, 'limited', 'Sign in', 'Too many attempts.')
  config.ipLimit = { count: 1, seconds: 60 }
  await fillIn(page, email)
  await heading(page, 'Sign in')
  await fillIn(page, email)
  await look(page, 'limited-address', 'Too many requests', undefined, sendAgain(page, '/oauth/authorize'))
})

const codeIn = ({ text }: Mail) => /: (\d{6})$/m.exec(text)?.[1] ?? ''

test('each page about mails and their links, here and in another browser, can be seen and read', async () => {
  const { user } = await build()
  const [page, other] = [await newPage(), await newPage()]
  await beginAt(page, shop)
  await press(page, 'Forgot password?')
  await look(page, 'forgot', 'Forgot your password?')
  await page.getByLabel('E-mail address').fill(user.email)
  await press(page, 'Send the code')
  await look(page, 'forgot-mailed', 'Check your mail')
  const reset = await mailbox.take(user.email, /^Set a new password/)
  await page.goto(reset.links[0]!)
  await look(page, 'forgot-opened', 'Choose a new password')
  await page.getByLabel('New password').fill('short')
  await press(page, 'Set the new password')
  await look(page, 'forgot-refused', 'Choose a new password', 'New password')
  await beginAt(page, shop)
  await press(page, 'E-mail me a code')
  await look(page, 'mail-code', 'Sign in by e-mail')
  await page.getByLabel('E-mail address').fill(user.email)
  await press(page, 'Send the code')
  await look(page, 'mail-code-sent', 'Check your mail')
  const mail = await mailbox.take(user.email, /^Sign in to/)
  await other.goto(mail.links[0]!)
  await look(other, 'link-elsewhere', 'Type the code where you asked for it')
  const wrong = codeIn(mail) === '000000' ? '000001' : '000000'
  for (let i = 0; i < 6; i += 1) {
    await page.getByLabel('Code from the mail').fill(wrong)
    await press(page, 'Sign in')
    if (i === 0) await look(page, 'mail-code-refused', 'Check your mail', 'Code from the mail is wrong')
  }
  await look(page, 'mail-code-locked', 'Check your mail', 'Try again in')
  await page.goto(mail.links[0]!)
  await look(page, 'link-opened', 'Sign in', 'You opened the link that was mailed to')
  await page.goto(`${urlOfService()}/oauth/mail?token=unknown`)
  await look(page, 'link-dead', 'This link does not work')
})

test('each state of a sign-in through a provider can be seen and read', async () => {
  const { user } = await build(gallery)
  const account = (email: string | undefined) => acme.addAccount({ email, email_verified: email !== undefined })
  const page = await newPage()
  /** Goes to the provider and comes back as `subject`. Without one the provider refuses. */
  const comeBack = async (subject: string | undefined, parameters: Record<string, string> = {}) => {
    const url = signInUrl(gallery, { provider: 'acme', ...parameters })
    const away = (await page.request.get(url, { maxRedirects: 0 })).headers().location ?? ''
    return (await acme.logIn(away, subject ?? 'nobody')).href
  }
  await beginAt(page, gallery)
  await look(page, 'providers', 'Sign in', 'Continue with Acme')
  await beginAt(page, gallery, { prompt: 'create' })
  await look(page, 'providers-create', 'Create your account', 'Continue with Acme')
  const email = `a.new.person.${someEmail()}`
  await page.goto(await comeBack(account(email)))
  await look(page, 'provider-new', 'Create your account', 'There is no account for')
  const other = await newPage()
  await other.goto(await comeBack(account(email)))
  await look(other, 'provider-elsewhere', 'Go back to where you began')
  expect(await other.title()).toBe('Go back to where you began - The Gallery')
  await page.goto(await comeBack(undefined))
  await look(page, 'provider-refuses', 'Sign in', 'The provider did not sign you in.')
  await page.goto(await comeBack(account(undefined)))
  await look(page, 'provider-no-email', 'Sign in', 'The provider did not tell your e-mail address.')
  await page.goto(await comeBack(account(user.email), { provider: 'stranger' }))
  await look(page, 'provider-untrusted', 'Sign in', 'There is already an account with this e-mail address.')
  acme.tamper.token = (tokens) => ({ ...tokens, id_token: 'no token' })
  await page.goto(await comeBack(account(email)))
  delete acme.tamper.token
  await look(page, 'provider-broken', 'Sign in', 'The provider gave an answer that cannot be used.')
  await beginAt(page, gallery, { provider: 'gone' })
  await look(page, 'provider-gone', 'Sign in', 'The provider cannot be reached at the moment.')
  await beginAt(page, gallery, { provider: 'unknown' })
  await look(page, 'provider-unknown', 'Sign in', 'This way to sign in is not open here.')
  // The clock of the provider is an hour behind, so that its sign-in is older than the request.
  service.advance(3_600)
  await page.goto(await comeBack(account(user.email), { prompt: 'login' }))
  await look(page, 'provider-too-old', 'Sign in', 'The provider did not ask you to sign in again.')
  const answer = await comeBack(account(user.email))
  await beginAt(page, gallery)
  await fillIn(page, (await build(gallery)).user.email)
  await arrived(page)
  await page.goto(answer)
  await look(page, 'provider-other', `Continue as ${user.email}`)
})

test('each section of the account page can be seen and read', async () => {
  const { user } = await build()
  const page = await newPage()
  const section = (name = '', more = '') => `${urlOfService()}/account${name && `/${name}`}?app=${shop.code}${more}`
  const open = (name: string) => page.goto(section(name))
  await page.goto(section('', `&return_to=${encodeURIComponent(back)}`))
  await fillIn(page, user.email)
  await look(page, 'account', 'Your account', 'Go to')
  await open('profile')
  await page.getByLabel('First name').fill('Ada')
  await press(page, 'Save')
  await look(page, 'account-profile', 'Name and language', 'Saved.')
  await open('email')
  await page.getByLabel('New e-mail address').fill(`another.${someEmail()}`)
  await press(page, 'Change the address')
  await look(page, 'account-email', 'E-mail address', 'A mail is on its way to the new address.')
  await open('password')
  await page.getByLabel('New password', { exact: true }).fill('a new and long password')
  await page.getByLabel('New password again').fill('another one')
  await press(page, 'Set the password')
  await look(page, 'account-password', 'Password', 'does not match the first one')
  await open('two-factor')
  await look(page, 'account-two-factor', 'Second factor', 'You have no second factor yet.')
  await press(page, 'Set up a second factor')
  await look(page, 'account-enrolment', 'Set up your authenticator app', 'Scan this picture')
  const secret = (await page.getByLabel('Or type this secret').inputValue()).replaceAll(' ', '')
  await page.getByLabel('Code that the app shows').fill('000000')
  await press(page, 'Turn on')
  await look(page, 'account-enrolment-refused', 'Set up your authenticator app', 'is wrong or was already used')
  await page.getByLabel('Code that the app shows').fill(totpAt(secret, service.deps.clock()))
  await press(page, 'Turn on')
  await look(page, 'account-recovery-codes', 'Your recovery codes', 'Each of these codes works once')
  await page.getByRole('link', { name: 'I have kept them' }).click()
  await look(page, 'account-two-factor-on', 'Second factor', 'You have 10 recovery codes left.')
  await press(page, 'Get new recovery codes')
  await look(page, 'account-recovery-codes-renewed', 'Your recovery codes', 'Each of these codes works once')
  // A session of an app, another browser, and one that is trusted.
  await service.login(user.email, shop.code, { two_factor_code: totpAt(secret, service.deps.clock() + 30_000) })
  const { db, clock } = service.deps
  const trust = { factor_activated_at: 1, version: 0, proven_at: clock(), expires_at: clock() + 86_400_000 * 30 }
  await db('trusted_browsers').insert({ ...trust, id: randomUUID(), hash: randomUUID(), user_id: user.id, ip: '192.0.2.7' })
  await open('sessions')
  await look(page, 'account-sessions', 'Where you are signed in', 'Trusted browsers')
  await acme
  const { id: provider_id } = await db('sso_providers').where({ code: 'acme' }).first()
  await db('user_identities').insert({ id: randomUUID(), user_id: user.id, provider_id, subject: user.id, created_at: clock() })
  await open('identities')
  await look(page, 'account-identities', 'Connected accounts', 'Connected on')
  const [member, inviting] = [await buildOrganization(service), await buildOrganization(service)]
  await addMember(service, member.id, user.id, ['org_admin'])
  await buildInvitation(service, { organizationId: inviting.id, email: user.email })
  await open('organizations')
  await look(page, 'account-organizations', 'Organizations', 'Invitations')
  await service.admin('POST', `/admin/users/${user.id}/apps/${vault.id}`)
  await service.admin('DELETE', `/admin/users/${user.id}/apps/${vault.id}`)
  await open('apps')
  await look(page, 'account-apps', 'Your apps', 'You do not have access.')
  await open('data')
  await look(page, 'account-data', 'Download your data', 'The file holds everything')
  await open('delete')
  await press(page, 'Delete my account')
  await look(page, 'account-delete', 'Delete your account', 'Nothing was deleted.')
  service.advance(10 * 60)
  await open('profile')
  await look(page, 'account-stale', 'Name and language', 'Confirm that it is you')
  await page.getByLabel('Password').fill('a slip of the finger')
  await page.getByLabel('Two-factor code').fill('123456')
  await press(page, 'Confirm')
  await look(page, 'account-stale-refused', 'Name and language', 'The password is wrong.')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('Two-factor code').fill(totpAt(secret, clock()))
  await press(page, 'Confirm')
  await open('delete')
  await page.getByLabel('Yes, delete my account').check()
  await press(page, 'Delete my account')
  await look(page, 'account-deleted', 'Your account is deleted')
})

test('each state of passkeys and of the page that manages them can be seen and read', async () => {
  const { user } = await build()
  const page = await newPage()
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const device = { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true } as const
  const addDevice = (isUserVerified: boolean, isSynced = false) =>
    session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ ...device, isUserVerified, automaticPresenceSimulation: true },
        ...{ defaultBackupEligibility: isSynced, defaultBackupState: isSynced },
      },
    })
  // Otherwise the authenticator answers the list of the e-mail field by itself.
  await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false')
  const openPage = () => page.goto(`${urlOfService()}/account/passkeys?app=${shop.code}`)
  const add = async (name: string) => {
    await page.getByLabel('Name of the new passkey').fill(name)
    await press(page, 'Add a passkey')
  }
  const named = (name: string) => page.getByRole('heading', { name, level: 2, exact: true }).waitFor()
  await page.goto(`${urlOfService()}/account/passkeys`)
  await look(page, 'passkeys-no-app', 'Open this page from one of your apps')
  await openPage()
  await fillIn(page, user.email)
  await look(page, 'passkeys-empty', 'Your passkeys', 'You have no passkey yet.')
  const careless = await addDevice(false)
  await add('My phone')
  await look(page, 'passkeys-device-refuses', 'Your passkeys', 'No passkey was made.')
  await session.send('WebAuthn.removeVirtualAuthenticator', careless)
  const laptop = await addDevice(true)
  await session.send('WebAuthn.setAutomaticPresenceSimulation', { ...laptop, enabled: false })
  await openPage()
  await add('Laptop')
  await look(page, 'passkeys-adding', 'Your passkeys', 'Add a passkey')
  await session.send('WebAuthn.setAutomaticPresenceSimulation', { ...laptop, enabled: true })
  // The device asks again.
  await press(page, 'Add a passkey')
  await named('Laptop')
  await look(page, 'passkeys-one', 'Your passkeys', 'not used yet')
  await beginAt(page, shop, { acr_values: 'mfa' })
  await look(page, 'second-factor-passkey', 'Use your passkey')
  await openPage()
  await session.send('WebAuthn.removeVirtualAuthenticator', laptop)
  await addDevice(true, true)
  const long = 'The phone that I bought in Łódź in 2025, with a name that is far longer than a line of this page'
  await add(long)
  await named(long)
  const { user_handle } = await service.deps.db('passkeys').where({ user_id: user.id }).first()
  const insert = (name: string, rp_id: string) => {
    const key = {
      id: randomUUID(),
      user_id: user.id,
      credential_id: randomUUID(),
      public_key: '',
      sign_count: 0,
      transports: '[]',
    }
    return service.deps.db('passkeys').insert({ ...key, name, rp_id, user_handle, created_at: service.deps.clock() })
  }
  await insert('x'.repeat(100), 'login.before-the-move.example.com')
  await openPage()
  await look(page, 'passkeys-several', 'Your passkeys', 'does not work here')
  await page.evaluate('document.forms[0].noValidate = true')
  await page.getByLabel('Name', { exact: true }).first().fill(' ')
  await page.getByRole('button', { name: 'Rename' }).first().click()
  await look(page, 'passkeys-name-refused', 'Your passkeys', 'Name is required.')
  await press(page, `Remove ${long}`)
  await look(page, 'passkeys-removed', 'Your passkeys', 'Laptop')
  await service.deps.db('users').where({ id: user.id }).update({ password_hash: null })
  await press(page, 'Remove Laptop')
  await look(page, 'passkeys-last-way', 'Your passkeys', 'This is your only way to sign in.')
  for (let count = 2; count < 10; count += 1) await insert(`Key ${count}`, 'localhost')
  await openPage()
  await look(page, 'passkeys-most', 'Your passkeys', 'Key 9')
  service.advance(601)
  await buildApp(service, { ...open, require_two_factor: 'everyone' })
  await openPage()
  await look(page, 'passkeys-stale', 'Your passkeys', 'To change something, use your passkey.')
  await service.deps.db('passkeys').where({ user_id: user.id }).delete()
  await page.context().clearCookies()
  await beginAt(page, shop, { method: 'passkey' })
  await look(page, 'passkey-first', 'Sign in')
  await press(page, 'Use a passkey')
  await look(page, 'passkey-refused', 'Sign in', 'This passkey does not work here')
})

test('the root and the pages for unreadable requests and forms can be seen and read', async () => {
  const page = await newPage()
  await page.goto(urlOfService())
  const accept = 'text/html'
  await look(page, 'welcome', 'You sign in here, for your apps', undefined, (headers) =>
    page.request.get(urlOfService(), { headers: { ...headers, accept } }),
  )
  const prefixes = await buildApp(service, { name: 'The Old App', allowed_redirect_urls: ['https://old.example/*'] })
  await beginAt(page, shop, { client_id: 'unknown' })
  await look(page, 'unknown-app', 'This app is not known here')
  await beginAt(page, forum, { redirect_uri: undefined })
  await look(page, 'redirect-missing', 'This sign-in cannot work', 'The link has no redirect_uri')
  await beginAt(page, forum, { redirect_uri: 'https://elsewhere.example/' })
  await look(page, 'redirect-unknown', 'This sign-in cannot work', 'is not one of the redirect URLs')
  await beginAt(page, prefixes, { redirect_uri: 'https://old.example/cb' })
  await look(page, 'redirect-prefixes', 'This sign-in cannot work', 'All redirect URLs of the app end in')
  await page.goto(`${urlOfService()}/oauth/return?state=unknown`)
  await look(page, 'nothing-pending', 'This page is too old', 'Go back to the app')
  await beginAt(page, forum)
  const fields = await page.evaluate<[string, string][]>('[...new FormData(document.forms[0])]')
  service.advance(3_601)
  await fillIn(page, someEmail())
  const tooOld = sendAgain(page, '/oauth/authorize', Object.fromEntries(fields))
  await look(page, 'too-old', 'This page is too old', 'Start again', tooOld)
  const query = `client_id=${forum.code}`
  const form = `<form method="post" action="${urlOfService()}/oauth/logout"><input type="hidden" name="query" value="${query}"><button>Win</button></form>`
  await page.route('http://evil.example/', (route) => route.fulfill({ body: form, contentType: 'text/html' }))
  await page.goto('http://evil.example/')
  await press(page, 'Win')
  await look(page, 'foreign-form', 'This form is not ours', undefined, sendAgain(page, '/oauth/logout', { query }, 'cross-site'))
})

// `account-pages.test.ts` opens these as people do. Most can be reached only once, so here they are rendered alone.
test.skipIf(isFastLane)('pages behind mail links and error pages can be seen and read in every language', async () => {
  const links = [{ kind: 'help', url: 'mailto:help@shop.example' } as const]
  const app = { name: 'The Shop', code: 'shop', home: 'https://shop.example/', accentColor: '#c2410c', links }
  const email = 'a.rather-long-name.of.somebody.with.an.address@subdomain.example.com'
  const token = { path: '/verify-email', token: `gml_${'x'.repeat(43)}` }
  const link = (texts: PageTexts, more: object = {}) => ({
    ...{ texts, app, email, newEmail: null, asksPassword: true, redirectUrl: 'https://shop.example/', minutesLeft: 14 },
    ...more,
  })
  const offer = (texts: PageTexts, more: object = {}) => ({
    ...{ texts, organization: { name: 'Acme', code: 'acme' }, email, app },
    ...more,
  })
  const refusal = (code: FormRefusal['code'], faults: FormRefusal['faults'] = {}): FormRefusal => ({
    ...{ status: 400, code, faults, focus: undefined, retryAfter: 900 },
  })
  const shownBy = {
    verify: (texts) => views.verifyView(token, link(texts)),
    'verify-wrong': (texts) => views.verifyView(token, link(texts), refusal('invalid_credentials')),
    'verify-code': (texts) => views.verifyView(token, link(texts), refusal('two_factor_required')),
    'verify-code-wrong': (texts) => views.verifyView(token, link(texts), refusal('invalid_two_factor_code')),
    'verify-locked': (texts) => views.verifyView(token, link(texts), refusal('account_locked')),
    'change-allow': (texts) => views.changeView(token, link(texts, { newEmail: email })),
    'change-confirm': (texts) => views.changeView(token, link(texts)),
    'change-code': (texts) => views.changeView(token, link(texts, { asksPassword: false })),
    'change-allowed': (texts) => views.changeAllowedView(link(texts), email),
    delete: (texts) => views.deletionView(token, link(texts)),
    deleted: (texts) => views.deletedView(link(texts)),
    'reset-mailed': (texts) => views.resetMailedView(link(texts)),
    disown: (texts) => views.disownView(token, link(texts)),
    disowned: (texts) => views.disownedView(link(texts)),
    secure: (texts) => views.secureView(token, link(texts)),
    secured: (texts) => views.securedView(link(texts)),
    undo: (texts) => views.undoView(token, link(texts)),
    undone: (texts) => views.undoneView(link(texts)),
    verified: (texts) => views.verifiedView(link(texts)),
    reset: (texts) => views.resetView(token, link(texts)),
    'reset-refused': (texts) =>
      views.resetView(token, link(texts), refusal('validation_failed', { password: 'too_common', password_again: 'no_match' })),
    'password-set': (texts) => views.passwordSetView(link(texts)),
    'magic-link': (texts) => views.magicLinkView(token, link(texts)),
    'login-code': (texts) => views.loginCodeView(token, link(texts)),
    invitation: (texts) => invitationView(token, offer(texts)),
    'invitation-refused': (texts) =>
      invitationView(token, offer(texts), refusal('app_access_denied', { first_name: 'too_long', last_name: 'invalid' })),
    'invitation-code': (texts) => invitationView(token, offer(texts, { app: null })),
    entered: (texts) => enteredView(offer(texts), { created: true, access: 'granted' }),
    'entered-pending': (texts) => enteredView(offer(texts), { created: true, access: 'pending' }),
    'entered-unverified': (texts) => enteredView(offer(texts), { created: false, access: 'unverified' }),
    'entered-unenrolled': (texts) => enteredView(offer(texts), { created: true, access: 'unenrolled' }),
    'invitation-unenrolled': (texts) => invitationView(token, offer(texts), refusal('two_factor_enrollment_required', {})),
    'invitation-passkey': (texts) => invitationView(token, offer(texts), refusal('second_factor_not_shown', {})),
  } satisfies Record<string, (texts: PageTexts) => Parameters<typeof showPage>[0]>
  const onward = (texts: PageTexts) => ({ place: app, onward: wayOn(texts, app) })
  const failed = (code: ConstructorParameters<typeof ApiError>[0]) => new ApiError(code, { retryAfter: 60 })
  const documents: Record<string, (texts: PageTexts) => unknown> = {
    ...Object.fromEntries(
      Object.entries(shownBy).map(([name, view]) => [name, (texts: PageTexts) => showPage(view(texts)).body]),
    ),
    ...Object.fromEntries(
      Object.keys(textsIn('en').deadLink.advice).map((path) => [
        `dead-link-of-${path.slice(1).replace('/', '-')}`,
        (texts: PageTexts) =>
          errorOfPage(texts, { method: 'GET', path, ...onward(texts) }, new ApiError('invalid_token'), 'r-1').body,
      ]),
    ),
    unreadable: (texts) => errorOfPage(texts, { method: 'POST', path: '/' }, new ApiError('invalid_json'), 'r-1').body,
    internal: (texts) => errorOfPage(texts, { method: 'GET', path: '/' }, failed('internal_error'), 'r-1').body,
    unavailable: (texts) => errorOfPage(texts, { method: 'GET', path: '/' }, failed('unavailable'), 'r-1').body,
    'sso-state': (texts) => errorForBrowser(texts, new ApiError('invalid_sso_state'), 'r-1').body,
    'sso-closed': (texts) => errorForBrowser(texts, new ApiError('auth_method_not_allowed'), 'r-1').body,
  }
  const page = await openBeside()
  await page.evaluate(axe.source)
  for (const [name, write] of Object.entries(documents)) {
    if (asked === undefined) expect(pictured, 'npm run pictures').toContain(name)
    await page.setContent(String(write(textsIn('en'))))
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width: 360, height: 320 })
      if (asked !== undefined) await page.screenshot({ path: join(asked, `${name}-${colorScheme}-360.png`), fullPage: true })
      expect(await page.evaluate(layoutFaults), name).toEqual([])
      expect(await findViolations(page, rulesIn(colorScheme)), `${name}, ${colorScheme}`).toEqual([])
    }
    await lookInLanguages(page, name, async (_, language) => ({
      text: async () => String(write(textsIn(language as Parameters<typeof textsIn>[0]))),
    }))
  }
})
