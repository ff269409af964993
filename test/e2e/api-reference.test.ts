// `/docs` as people see it: in a real Chromium, on a desk and on a phone, in the light and in the dark.
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { createDatabase } from '../support/database.ts'
import { startInstance } from '../support/server-instance.ts'

const browser = openBrowser()
let url: string

beforeAll(async () => {
  const ends: (() => Promise<unknown>)[] = []
  const database = await createDatabase('sqlite')
  ends.push(() => database.drop())
  const server = await startInstance({ DATABASE_URL: database.url }, (end) => void ends.push(end))
  url = `${server.url}/docs`
  return async () => {
    for (const end of ends.reverse()) await end()
  }
})

interface Look {
  width: number
  height: number
  colorScheme?: 'light' | 'dark'
}

async function open({ width, height, colorScheme = 'light' }: Look): Promise<{ page: Page; faults: string[]; asked: string[] }> {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme })
  const faults: string[] = []
  const asked: string[] = []
  page.on('console', (message) => void faults.push(message.text()))
  page.on('pageerror', (error) => void faults.push(error.message))
  page.on('request', (request) => void asked.push(request.url()))
  await page.goto(url)
  return { page, faults, asked }
}

const groundOf = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
const overflowOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')

test('on a desk it is read beside its contents, which lead into it; it asks for nothing but itself', async () => {
  const { page, faults, asked } = await open({ width: 1280, height: 900 })
  const [nav, main] = await Promise.all(['nav', 'main'].map((part) => page.locator(part).boundingBox()))
  expect(nav!.x + nav!.width).toBeLessThanOrEqual(main!.x + 1)
  expect(await groundOf(page)).toBe('rgb(255, 255, 255)')
  await page.getByRole('link', { name: 'Log in through an app' }).first().click()
  expect(await page.getByRole('heading', { name: 'Log in through an app' }).boundingBox()).toMatchObject({
    y: expect.closeTo(20, -2),
  })
  expect(await page.locator('#postAuthLogin pre').textContent()).toContain('/api/v1/auth/login')
  await page.locator('#postAuthLogin').getByRole('link', { name: 'account_locked' }).click()
  expect(new URL(page.url()).hash).toBe('#error-account_locked')
  expect(asked.filter((each) => !each.startsWith(url))).toEqual([])
  expect(faults).toEqual([])
})

test('on a phone and on a narrow one nothing is wider than the screen', async () => {
  for (const width of [390, 320]) {
    const { page, faults } = await open({ width, height: 800 })
    expect(await overflowOf(page)).toBeLessThanOrEqual(0)
    expect(await page.locator('nav ul ul').first().isVisible()).toBe(false)
    expect(faults).toEqual([])
  }
})

test('in the dark it is dark', async () => {
  const { page } = await open({ width: 1280, height: 900, colorScheme: 'dark' })
  expect(await groundOf(page)).toBe('rgb(15, 19, 24)')
})
