// The site that `npm run docs` makes of docs/, in a real Chromium. Building it fails for a link that leads to no page.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { pagesIn, readPage, readPageList } from '../../site/page-list.ts'
import { openBrowser } from '../support/browser.ts'
import { onFileEnd } from '../support/on-file-end.ts'

const script = join(fileURLToPath(new URL('../../', import.meta.url)), 'scripts/docs.ts')
const browser = openBrowser()
const pages = pagesIn(readPageList())
let origin: string
let printed = ''

beforeAll(async () => {
  const program = spawn(process.execPath, [script, '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] })
  onFileEnd(async () => {
    program.kill()
  })
  let log = ''
  program.stderr.on('data', (text) => {
    log += text
  })
  program.stdout.on('data', (text) => {
    printed += text
  })
  const [first] = await Promise.race([once(program.stdout, 'data'), once(program, 'exit')])
  if (typeof first === 'number') throw new Error(log)
  origin = printed.trim().replace(/\/$/, '')
})

const fetched = (path: string) => fetch(origin + path)

/** Opens a page. What it asks of another host, and what its scripts complain about, are faults. */
async function open(path: string, width: number, colorScheme: 'light' | 'dark'): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  const faults: string[] = []
  page.on('console', (message) => void faults.push(message.text()))
  page.on('pageerror', (error) => void faults.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) faults.push(request.url())
  })
  await page.goto(origin + path)
  // Vue has taken over the page, so clicks count.
  await page.waitForFunction('document.querySelector("#app").__vue_app__')
  return { page, faults }
}

test('`npm run docs` prints one URL, and serves every page under the name of its file', async () => {
  expect(printed).toMatch(/^http:\/\/localhost:\d+\/\n$/)
  for (const { path } of pages) {
    const reply = await fetched(`/${path.replace(/README\.md$/, '').replace(/md$/, 'html')}`)
    expect({ path, status: reply.status }).toEqual({ path, status: 200 })
    expect(await reply.text()).toContain('<h1 ')
  }
  for (const path of ['/no-such-page.html', '/../package.json', '/%2e%2e/package.json', '/%ff'])
    expect((await fetched(path)).status).toBe(404)
})

test('llms.txt links to the text of every page, and llms-full.txt contains them all', async () => {
  const index = await (await fetched('/llms.txt')).text()
  const links = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link!)
  expect(links).toEqual(expect.arrayContaining(pages.map(({ path }) => `/${path}`)))
  for (const link of links) expect((await fetched(link)).status).toBe(200)
  const full = await (await fetched('/llms-full.txt')).text()
  for (const { path } of pages) expect(full).toContain(readPage(path).trim())
})

test.each([
  { width: 360, colorScheme: 'light' as const },
  { width: 1440, colorScheme: 'dark' as const },
])('no page is wider than the screen at $width px, and no file comes from another host', async ({ width, colorScheme }) => {
  const wide = ['/', '/reference/configuration', '/reference/performance-figures', '/sign-users-in/sign-in-page']
  for (const path of [...wide, '/start/questions', '/reference/authctl/', '/why/architecture', '/operate/security']) {
    const { page, faults } = await open(path, width, colorScheme)
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect({ path, overflow: Math.max(0, overflow), faults }).toEqual({ path, overflow: 0, faults: [] })
    await page.context().close()
  }
})

test.each([
  ['hash threads', /production-settings\.html#hash-threads$/],
  ['Why does every second call fail?', /questions\.html#why-does-every-second-call-fail$/],
  ['impersonate a customer', /questions\.html#can-i-sign-in-as-another-user-impersonate-impersonation$/],
  ['custom claims', /questions\.html#can-i-add-custom-claims-to-a-token$/],
])('the search works without a network and answers “%s”', async (question, answer) => {
  const { page, faults } = await open('/', 1440, 'light')
  await page.locator('.DocSearch-Button').click()
  await page.locator('.search-input').fill(question)
  await page.locator('.result').first().click()
  await page.waitForURL(answer)
  expect(faults).toEqual([])
})

test('the sidebar leads from a group to its pages', async () => {
  const { page, faults } = await open('/', 1440, 'light')
  await page.locator('.VPSidebar').getByText('Operate', { exact: true }).click()
  await page.locator('.VPSidebar').getByRole('link', { name: 'Rotate the signing secret' }).click()
  await page.waitForURL(/rotating-the-secret\.html$/)
  expect(faults).toEqual([])
})
