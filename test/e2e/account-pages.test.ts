// The service's own pages in a real Chromium, opened from the links in real mails: normally, in dark mode, on
// a narrow screen, and with only the keyboard.
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { ADMIN_EMAIL, type Json, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { type Mail, type Mailbox, startMailbox } from '../support/mail-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'

const NEW_PASSWORD = 'a new horse battery staple'
/** The folder for screenshots. Without it none are saved. */
const shots = process.env.SCREENSHOTS
const browser = openBrowser()
let mailbox: Mailbox
let server: ServerInstance
let adminToken: string
let callback: string

beforeAll(async () => {
  const database = await createDatabase('sqlite')
  onFileEnd(() => database.drop())
  mailbox = await startMailbox({}, onFileEnd)
  callback = `${await startApp()}/signed-in`
  const settings = {
    DATABASE_URL: database.url,
    SMTP_URL: mailbox.url,
    AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL,
    AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
  }
  server = await startInstance(settings, onFileEnd)
  adminToken = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const app = { code: 'shop', name: 'The Shop', auto_grant_on_signup: true, allowed_redirect_urls: [callback] }
  await admin('POST', '/admin/apps', app)
})

/** The app on another origin that a link leads to. Its page shows the referrer that it received. */
async function startApp(): Promise<string> {
  const app: Server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<title>The Shop</title><h1>Back in the shop</h1><p>referrer: ${request.headers.referer ?? 'none'}</p>`)
  })
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  onFileEnd(async () => void app.close())
  return `http://127.0.0.1:${(app.address() as AddressInfo).port}`
}

async function admin(method: string, path: string, body: Json): Promise<Json> {
  const reply = await server.call(method, path, { body, token: adminToken })
  expect(reply.status).toBe(201)
  return reply.body
}

async function register(): Promise<{ email: string; mail: Mail }> {
  const email = `${randomUUID()}@example.com`
  await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'shop' } })
  return { email, mail: await mailbox.take(email) }
}

async function ask(what: string, email: string, extra: Json = {}): Promise<Mail> {
  await server.call('POST', `/auth/${what}`, { body: { email, app_code: 'shop', ...extra } })
  return mailbox.take(email)
}

/** Opens the link of a mail, with the service's actual port, which the link does not contain. */
async function open(mail: Mail, options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[] }> {
  const page = await browser.newPage(options)
  const complaints: string[] = []
  page.on('console', (message) => {
    // The browser logs answers with 4xx, but those are refusals that the page shows.
    if (!/Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
  page.on('requestfailed', (request) => void complaints.push(`${request.url()} ${request.failure()?.errorText}`))
  const link = new URL(mail.links[0]!)
  await page.goto(server.url + link.pathname + link.search)
  return { page, complaints }
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const shoot = (page: Page, name: string) =>
  shots === undefined ? undefined : page.screenshot({ path: join(shots, `${name}.png`), fullPage: true })

/** Red, green and blue of `rgb(…)`. */
const rgb = (color: string) =>
  color
    .match(/[\d.]+/g)!
    .slice(0, 3)
    .map(Number) as [number, number, number]

/** The contrast ratio as defined by WCAG 2.2. */
function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const [red, green, blue] = rgb(color).map((part) => {
      const share = part / 255
      return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    }) as [number, number, number]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

interface Painted {
  what: string
  color: string
  ground: string
  border: string
}

/** The colours of every text and every field of a page. */
const paintOf = (page: Page): Promise<Painted[]> =>
  page.evaluate(`[...document.querySelectorAll('main *')].flatMap((element) => {
    const isField = element.matches('input:not([type=hidden])')
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '')
    if (!isField && !hasText) return []
    let behind = element
    while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement
    const { color, borderTopColor } = getComputedStyle(element)
    return [{ what: element.outerHTML.slice(0, 80), color, ground: getComputedStyle(behind).backgroundColor,
      border: isField ? borderTopColor : color }]
  })`)

async function expectReadable(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  const painted = await paintOf(page)
  expect(painted.length).toBeGreaterThanOrEqual(3)
  for (const { what, color, ground, border } of painted) {
    expect(contrast(color, ground), what).toBeGreaterThanOrEqual(4.5)
    expect(contrast(border, ground), what).toBeGreaterThanOrEqual(3)
  }
  const grounds = "['body', 'main'].map((name) => getComputedStyle(document.querySelector(name)).backgroundColor)"
  const [body, card] = await page.evaluate<[string, string]>(grounds)
  expect(body).not.toBe(card)
  const bright = rgb(card).reduce((sum, part) => sum + part) / 3
  if (scheme === 'light') expect(bright).toBeGreaterThan(200)
  else expect(bright).toBeLessThan(60)
}

/** Presses Tab until the element with this name has the focus, and checks that the focus is visible. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 10; presses += 1) {
    await page.keyboard.press('Tab')
    const focused = (await page.evaluate(`(() => {
      const element = document.activeElement
      const label = element.labels?.[0] ?? element
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      return { name: label.innerText, outline: outlineStyle === 'none' ? '0px' : outlineWidth }
    })()`)) as { name: string; outline: string }
    if (!focused.name.startsWith(name)) continue
    expect(focused.outline).toBe('3px')
    return
  }
  throw new Error(`Tab never came to ${name}`)
}

test('the link of the first mail opens a page whose button confirms the address', async () => {
  const { email, mail } = await register()
  const { page, complaints } = await open(mail)
  await heading(page, 'Confirm your e-mail address')
  expect(await page.title()).toBe('Confirm your e-mail address - The Shop')
  await page.getByText(`Is ${email} your address?`).waitFor()
  await shoot(page, 'verify')
  await expectReadable(page, 'light')
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Yes, confirm it')
  await heading(page, 'Your e-mail address is confirmed')
  await shoot(page, 'verified')
  expect(page.url()).toBe(`${server.url}/verify-email`)
  expect((await server.login(email, 'shop')).body.user.email_verified).toBe(true)
  await page.goBack()
  await heading(page, 'This link does not work')
  await shoot(page, 'dead-link')
  await expectReadable(page, 'light')
  expect(complaints).toEqual([])
})

test('the keyboard alone resets a password, and the page shows each fault at its field and leads to the app', async () => {
  const { email } = await register()
  const { page, complaints } = await open(await ask('password/forgot', email, { redirect_url: callback }))
  const { keyboard } = page
  await heading(page, 'Choose a new password')
  await tabTo(page, 'New password')
  await keyboard.type(NEW_PASSWORD)
  await tabTo(page, 'New password again')
  await keyboard.type('a slip')
  await keyboard.press('Enter')
  await page.getByRole('alert').getByText('New password again does not match the first one').waitFor()
  await shoot(page, 'reset-refused')
  await expectReadable(page, 'light')
  expect(await page.evaluate('[document.activeElement.id, document.activeElement.value]')).toEqual(['password_again', ''])
  await keyboard.press('Shift+Tab')
  await keyboard.type(NEW_PASSWORD)
  await tabTo(page, 'New password again')
  await keyboard.type(NEW_PASSWORD)
  await tabTo(page, 'Set the new password')
  await keyboard.press('Enter')
  await heading(page, 'Your new password is set')
  await shoot(page, 'reset-done')
  await tabTo(page, 'Continue to The Shop')
  await keyboard.press('Enter')
  await heading(page, 'Back in the shop')
  await page.getByText('referrer: none').waitFor()
  expect(page.url()).toBe(callback)
  expect((await server.login(email, 'shop', NEW_PASSWORD)).status).toBe(200)
  expect(complaints).toEqual([])
})

test('the keyboard alone follows a magic link to the app, which gets the token and no referrer', async () => {
  const { email } = await register()
  const mail = await ask('magic-link', email, { redirect_url: callback })
  const { page, complaints } = await open(mail)
  await heading(page, 'Sign in to The Shop')
  await shoot(page, 'magic-link')
  await tabTo(page, 'Sign in')
  await page.keyboard.press('Enter')
  await heading(page, 'Back in the shop')
  expect(page.url()).toBe(`${callback}?token=${mail.token}`)
  await page.getByText('referrer: none').waitFor()
  const consumed = await server.call('POST', '/auth/magic-link/consume', { body: { token: mail.token } })
  expect(consumed.body.user.email).toBe(email)
  expect(complaints).toEqual([])
})

test('a magic link without a redirect URL shows a code that the keyboard reaches', async () => {
  const { email } = await register()
  const mail = await ask('magic-link', email)
  const { page, complaints } = await open(mail, { colorScheme: 'dark' })
  await press(page, 'Sign in')
  await heading(page, 'Your sign-in code')
  await tabTo(page, 'Sign-in code')
  expect(await page.evaluate('getSelection().toString() || document.activeElement.value')).toBe(mail.token)
  await shoot(page, 'code-dark')
  await expectReadable(page, 'dark')
  expect(complaints).toEqual([])
})

test.each([
  ['in a wide window', { viewport: { width: 1280, height: 800 } }, ''],
  ['on the narrowest telephone', { viewport: { width: 320, height: 568 } }, ''],
  ['in a browser that does not fit a field to its text', { viewport: { width: 320, height: 568 } }, 'fixed'],
] as const)('a code is fully visible, and selected by three clicks or by keyboard, %s', async (_, options, sizing) => {
  const { email } = await register()
  const mail = await ask('magic-link', email)
  const { page } = await open(mail, options)
  await press(page, 'Sign in')
  const code = page.getByLabel('Sign-in code')
  const hidden = await page.evaluate(`(() => {
    const { style } = document.querySelector('#code')
    style.fieldSizing = '${sizing}'
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = document.querySelector('#code')
    return [scrollWidth - clientWidth, scrollHeight - clientHeight]
  })()`)
  expect(hidden).toEqual([0, 0])
  await code.click({ clickCount: 3 })
  expect(await page.evaluate('getSelection().toString()')).toBe(mail.token)
  await page.reload()
  await tabTo(page, 'Sign-in code')
  await page.keyboard.press('ControlOrMeta+A')
  expect(await page.evaluate('getSelection().toString()')).toBe(mail.token)
})

describe('invitations in a browser', () => {
  const invite = async (email: string): Promise<Mail> => {
    const { id } = await admin('POST', '/admin/organizations', { name: 'Acme & Sons' })
    await admin('POST', `/admin/organizations/${id}/invitations`, { email, role_codes: ['org_member'], app_code: 'shop' })
    return mailbox.take(email)
  }

  test.each([
    ['in the light', { colorScheme: 'light' }],
    ['in the dark', { colorScheme: 'dark' }],
    ['at 320 pixels', { colorScheme: 'light', viewport: { width: 320, height: 568 } }],
    // A window of 640 pixels, zoomed to 200 %.
    ['at 200 %', { colorScheme: 'light', viewport: { width: 320, height: 400 }, deviceScaleFactor: 2 }],
  ] as const)('an invitation %s is accepted with a new account, and everything can be seen and read', async (name, options) => {
    const email = `${randomUUID()}@example.com`
    const { page, complaints } = await open(await invite(email), options)
    await heading(page, 'You are invited to Acme & Sons')
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(email)
    await page.getByLabel('Password').fill('short')
    await press(page, 'Accept the invitation')
    await page.getByRole('alert').getByText('Password must have at least 8 characters').waitFor()
    await shoot(page, `invitation ${name}`.replaceAll(/\W+/g, '-'))
    await expectReadable(page, options.colorScheme)
    // The page must not scroll sideways.
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByLabel('First name').fill('Ada')
    await press(page, 'Accept the invitation')
    await heading(page, 'You are a member of Acme & Sons')
    expect((await server.login(email, 'shop')).body.user).toMatchObject({ first_name: 'Ada', email_verified: true })
    expect(complaints).toEqual([])
  })
})
