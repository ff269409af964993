// `/docs` as people see it: in a real Chromium, at desktop and phone size, in light and dark mode.
import type { Page, ViewportSize } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { listRoutes, openApiDocument } from '../../packages/server/src/app.ts'
import { errorsOf } from '../../packages/server/src/http/openapi.ts'
import { openBrowser } from '../support/browser.ts'
import { createDatabase } from '../support/database.ts'
import { startInstance } from '../support/server-instance.ts'

const browser = openBrowser()
let origin: string

beforeAll(async () => {
  const ends: (() => Promise<unknown>)[] = []
  const database = await createDatabase('sqlite')
  ends.push(() => database.drop())
  const server = await startInstance({ DATABASE_URL: database.url }, (end) => void ends.push(end))
  origin = server.url
  return async () => {
    for (const end of ends.reverse()) await end()
  }
})

/** Opens the page and waits until it shows routes. A violation of its policy is a console error and counts as a fault. */
async function open(
  viewport: ViewportSize,
  { hash = '', colorScheme = 'light' }: { hash?: string; colorScheme?: 'light' | 'dark' } = {},
): Promise<{ page: Page; faults: string[]; asked: string[] }> {
  const page = await browser.newPage({ viewport, colorScheme })
  const faults: string[] = []
  const asked: string[] = []
  page.on('console', (message) => void faults.push(message.text()))
  page.on('pageerror', (error) => void faults.push(error.message))
  page.on('request', (request) => void asked.push(request.url()))
  await page.goto(`${origin}/docs${hash}`)
  await page.locator('.opblock').first().waitFor()
  return { page, faults, asked }
}

const groundOf = (page: Page) => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
const overflowOf = (page: Page) => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
const desk = { width: 1280, height: 900 }
const dark = 'rgb(28, 32, 34)'

/** The members of an element that this file reads. The project does not include browser types. */
interface PageElement {
  readonly textContent: string
  querySelector(selector: string): PageElement | null
  getAttribute(name: string): string
}

test('the reference lists every route on a wide screen, and loads only its files and the document', async () => {
  const { page, faults, asked } = await open(desk)
  // Of all routes it shows those that are near.
  const routes = new Set<string>()
  const height = () => page.evaluate<number>('document.documentElement.scrollHeight')
  for (let top = 0; top < (await height()); top += 600) {
    await page.evaluate(`window.scrollTo(0, ${top})`)
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
    const near = await page
      .locator('.opblock-summary')
      .evaluateAll((summaries: unknown[]) =>
        (summaries as PageElement[]).map(
          (summary) =>
            summary.querySelector('.opblock-summary-method')!.textContent +
            summary.querySelector('[data-path]')!.getAttribute('data-path'),
        ),
      )
    for (const route of near) routes.add(route)
  }
  const { paths = {} } = openApiDocument()
  expect([...routes].sort()).toEqual(
    Object.entries(paths)
      .flatMap(([path, methods]) => Object.keys(methods ?? {}).map((method) => `${method.toUpperCase()}${path}`))
      .sort(),
  )
  expect(routes.size).toBeGreaterThan(listRoutes().length)
  const files = ['', '/init.js', '/swagger-ui-bundle.js', '/swagger-ui.css'].map((file) => `${origin}/docs${file}`)
  expect(await groundOf(page)).not.toBe(dark)
  expect(asked.filter((each) => !each.startsWith('data:')).sort()).toEqual([`${origin}/api/v1/openapi.json`, ...files])
  expect(faults).toEqual([])
})

test('a link opens its route, with its fields, its caller and its error codes', async () => {
  const { page, faults } = await open(desk, { hash: '#/Apps/postAdminApps' })
  const block = page.locator('#operations-Apps-postAdminApps')
  await block.locator('.responses-table').waitFor()
  const text = await block.textContent()
  const route = listRoutes().find(({ method, path }) => `${method} ${path}` === 'POST /admin/apps')!
  for (const codes of errorsOf(route).values()) for (const code of codes) expect(text).toContain(code)
  expect(text).toContain('system_admin')
  const body = block.locator('.opblock-section-request-body')
  const fields = await body.locator('.json-schema-2020-12__title').allTextContents()
  const { CreateApp } = openApiDocument().components!.schemas as Record<string, { properties: object }>
  expect(fields).toEqual(expect.arrayContaining([...Object.keys(CreateApp!.properties), 'url']))
  // Other members are not allowed.
  expect(await body.textContent()).toMatch(/Additional properties\s*forbidden/i)
  expect(faults).toEqual([])
})

test('the reference tries out a call, and shows it as a shell command', async () => {
  const { page, faults } = await open(desk, { hash: '#/System/getHealth' })
  const block = page.locator('#operations-System-getHealth')
  await block.getByRole('button', { name: 'Try it out' }).click()
  await block.getByRole('button', { name: 'Execute' }).click()
  await block.locator('.live-responses-table').waitFor()
  expect(await block.locator('.curl-command').textContent()).toContain(`${origin}/api/v1/health`)
  expect(await block.locator('.live-responses-table').textContent()).toMatch(/"status":\s*"ok"/)
  expect(faults).toEqual([])
})

test('the reference fits the screen of a phone, even a narrow one, and is dark in dark mode', async () => {
  const { page, faults } = await open({ width: 390, height: 800 }, { colorScheme: 'dark' })
  expect(await overflowOf(page)).toBeLessThanOrEqual(0)
  await page.setViewportSize({ width: 320, height: 800 })
  expect(await overflowOf(page)).toBeLessThanOrEqual(0)
  expect(await groundOf(page)).toBe(dark)
  expect(faults).toEqual([])
})
