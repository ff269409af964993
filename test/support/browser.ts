import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { chromium } from 'playwright-core'
import { beforeAll, beforeEach, inject, onTestFinished } from 'vitest'

/** Of a click, a wait or a navigation: below the timeout of a test, so that what failed is named. */
const stepTimeoutMs = 60_000

export interface TestBrowser {
  /** A profile of its own, closed when the test ends; its tabs share storage and nothing is shared with another one. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>
  /** A tab in a profile of its own. */
  newPage(options?: BrowserContextOptions): Promise<Page>
}

/** What tells the process of a page from those of others: V8 gives each an id by chance, and pages of one process share it. */
export async function processOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page)
  const { id } = await session.send('Runtime.getIsolateId')
  await session.detach()
  return id
}

/**
 * The Chromium of this run: call it at the top of the file or in a `describe`. On a machine where none can be had, those tests are
 * skipped; `browser-setup.ts` says why.
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
