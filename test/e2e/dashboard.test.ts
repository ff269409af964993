// The pages of `authctl dashboard` in a real Chromium: in light and dark mode, at desktop
// size and 320 pixels wide, checked with axe.
import { join } from 'node:path'
import axe, { type AxeResults } from 'axe-core'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { gatehouseFixture, register } from '../cli/sandbox.ts'
import { openBrowser } from '../support/browser.ts'

/** The folder for screenshots. Without it none are saved. */
const shots = process.env.SCREENSHOTS
const browser = openBrowser()
const { service, signedInOnce } = gatehouseFixture({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: 'off' })
const person = { email: 'eve.with.a.long.name@example.com', password: 'correct horse battery', app_code: 'shop' }
let userId: string | undefined

/** Starts a dashboard for a service with some activity, and returns its address. */
async function serve(): Promise<string> {
  const here = await signedInOnce()
  if (userId === undefined) {
    await here.authctl('app create shop --name Shop --auto-grant --redirect https://shop.example.com/callback')
    userId = (await register(service.url, { ...person, first_name: 'Eve' })).user.id
    for (const [email, password] of [
      [person.email, person.password],
      [person.email, 'a wrong password'],
      [person.email, 'a wrong password'],
      [person.email, 'a wrong password'],
      ['nobody@example.com', 'a wrong password'],
    ])
      await fetch(`${service.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password, app_code: 'shop' }),
      })
  }
  return here.start('dashboard').line()
}

interface Seen {
  page: Page
  url: string
  /** The browser's complaints, including violations of the page's policy. */
  complaints: string[]
  /** The origins that the page sent requests to. */
  origins: Set<string>
}

async function open(options: BrowserContextOptions = {}): Promise<Seen> {
  const url = await serve()
  const page = await browser.newPage(options)
  const complaints: string[] = []
  const origins = new Set<string>()
  page.on('console', (message) => {
    // The browser logs answers with 4xx, but those are refusals that the page shows.
    if (!/Failed to load resource/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => void complaints.push(error.message))
  page.on('request', (request) => void origins.add(new URL(request.url()).origin))
  await page.goto(url)
  return { page, url, complaints, origins }
}

const shoot = (page: Page, name: string) =>
  shots === undefined ? undefined : page.screenshot({ path: join(shots, `dashboard-${name}.png`), fullPage: true })

/** The violations of all axe rules, including the best practices. */
async function violationsOf(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<AxeResults>('axe.run({ preload: false })')
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`))
}

const addresses = () => [
  '',
  'users',
  'users?q=nobody-at-all',
  'sessions',
  `sessions?user=${userId}`,
  'grants?app=shop',
  'audit',
  'audit?since=sometime',
  'webhooks?app=shop',
]

const screens = { 'on a desk': { width: 1280, height: 900 }, 'at 320 pixels': { width: 320, height: 568 } }

test('every page is accessible, light and dark, on a wide screen and at 320 pixels, without sideways scrolling', async () => {
  const { page, url, complaints, origins } = await open()
  await page.addInitScript(axe.source)
  const grounds = { light: 'rgb(243, 244, 246)', dark: 'rgb(15, 19, 24)' }
  for (const address of addresses()) {
    await page.goto(url + address)
    await page.getByRole('heading', { level: 1 }).waitFor()
    for (const colorScheme of ['light', 'dark'] as const)
      for (const [screen, viewport] of Object.entries(screens)) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const look = `${colorScheme} ${screen} ${address}`
        await shoot(page, look.replaceAll(/\W+/g, '-'))
        expect(await violationsOf(page), look).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), look).toBe(true)
        expect(await page.evaluate('getComputedStyle(document.body).backgroundColor'), look).toBe(grounds[colorScheme])
      }
  }
  expect(complaints).toEqual([])
  expect([...origins]).toEqual([new URL(url).origin])
})

test('links lead from failures to their events, and from a user to all their records', async () => {
  const { page, complaints } = await open()
  await page.getByRole('img', { name: /1 logins? succeeded|logins succeeded/ }).waitFor()
  await page.getByRole('link', { name: person.email }).first().click()
  await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
  expect(await page.getByRole('row').filter({ hasText: 'wrong_password' }).count()).toBe(3)

  await page.getByRole('link', { name: 'Users', exact: true }).click()
  await page.getByLabel('Part of the e-mail or of a name').fill('eve.with')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('row').filter({ hasText: person.email }).getByRole('link', { name: 'grants' }).click()
  await page.getByRole('heading', { name: 'Grants', level: 1 }).waitFor()
  expect(await page.getByLabel('User').inputValue()).toBe(userId)
  await page.getByRole('cell', { name: 'active' }).waitFor()
  expect(complaints).toEqual([])
})

test('the keyboard alone reaches a page and fills in a form, and the focus is visible', async () => {
  const { page } = await open()
  const focused = () => page.evaluate<string>('document.activeElement.innerText || document.activeElement.id')
  const tabTo = async (name: string) => {
    for (let presses = 0; presses < 30 && (await focused()) !== name; presses += 1) await page.keyboard.press('Tab')
    expect(await focused()).toBe(name)
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineWidth')).toBe('3px')
  }
  await tabTo('Audit')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
  await tabTo('ip')
  await page.keyboard.type('192.0.2.99')
  await page.keyboard.press('Enter')
  await page.getByText('No events.').waitFor()
})

test('the token does not leave the dashboard, because links send no referrer', async () => {
  const { page, url } = await open()
  expect(await page.evaluate('document.referrer')).toBe('')
  await page.goto(`${url}users`)
  await page.getByRole('link', { name: 'Audit' }).click()
  await page.getByRole('heading', { name: 'Audit', level: 1 }).waitFor()
  expect(await page.evaluate('document.referrer')).toBe('')
})
