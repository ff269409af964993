import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { beforeAll, beforeEach, inject, onTestFinished } from 'vitest'

/** The limit for a click, a wait or a navigation. It is below a test's timeout, so that the error names the failed step. */
const stepTimeoutMs = 60_000

export interface TestBrowser {
  /** A separate browser profile, closed when the test ends. Only tabs of the same profile share storage. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** A tab in a new profile. */
  newPage(options?: BrowserContextOptions): Promise<Page>
}

/** An id of the process that a page runs in: the random id of its V8 isolate, which all pages of one process share. */
export async function processOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const { id } = await session.send('Runtime.getIsolateId')
  await session.detach()
  return id
}

/**
 * Connects to the Chromium of this run. Call it at the top of the file or in a `describe`. On a machine without a Chromium, those
 * tests are skipped; `browser-setup.ts` says why.
 */
export function openBrowser(): TestBrowser {
  const found = inject('browser')
  let browser: Browser

  beforeAll(async () => {
    if (!('endpoint' in found)) return
    browser = await chromium.connect(found.endpoint)
    return () => browser.close()
  })

  beforeEach(({ skip }) => {
    if ('obstacle' in found) skip(found.obstacle)
  })

  const newContext = async (options?: BrowserContextOptions) => {
    const context = await browser.newContext(options)
    context.setDefaultTimeout(stepTimeoutMs)
    onTestFinished(() => context.close())
    return context
  }
  return { newContext, newPage: async (options) => (await newContext(options)).newPage() }
}
