import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { beforeAll, beforeEach, onTestFinished } from 'vitest'
import { provideChromium } from './chromium.ts'

/** For the first run on a machine, which fetches the browser. */
const startTimeoutMs = 300_000
/** Of a click, a wait or a navigation: below the timeout of a test, so that what failed is named. */
const stepTimeoutMs = 10_000

export interface TestBrowser {
  /** A profile of its own, closed when the test ends; its tabs share storage and nothing is shared with another one. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** A tab in a profile of its own. */
  newPage(options?: BrowserContextOptions): Promise<Page>
  /** The ids of the processes that pages run in. */
  listRenderers(): Promise<number[]>
}

/**
 * One Chromium for all tests of a file: call it at the top of the file or in a `describe`. On a machine where none can be had,
 * those tests are skipped, and one line says why. The browser ends with the file; a worker that is killed takes it along, since
 * it listens on a pipe of that worker.
 */
export function openBrowser(): TestBrowser {
  let browser: Browser | undefined
  let obstacle: string | undefined

  beforeAll(async () => {
    const found = await provideChromium().catch((error: Error) => {
      obstacle = error.message
      process.stderr.write(`[gatehouse] tests in a browser are skipped: ${obstacle}\n`)
    })
    if (!found) return
    const { executablePath, env } = found
    // On a small machine tabs would share a process, and with it what it knows of their storage.
    const args = ['--renderer-process-limit=100']
    browser = await chromium.launch({ executablePath, args, env: { ...process.env, ...env } })
    return () => browser?.close()
  }, startTimeoutMs)
  beforeEach(({ skip }) => {
    if (browser === undefined) skip(obstacle)
  })

  const newContext = async (options?: BrowserContextOptions) => {
    const context = await browser!.newContext(options)
    context.setDefaultTimeout(stepTimeoutMs)
    onTestFinished(() => context.close())
    return context
  }
  const listRenderers = async () => {
    const session = await browser!.newBrowserCDPSession()
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    await session.detach()
    return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
  }
  return { newContext, newPage: async (options) => (await newContext(options)).newPage(), listRenderers }
}
