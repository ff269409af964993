// One Chromium for the whole test run; each test file that needs it connects to it. It is controlled through a pipe of this
// process, so it ends when this process ends.
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { provideChromium } from './chromium.ts'
import { countBelow } from './run-figures.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The endpoint of the browser, or why there is none. */
    browser: { endpoint: string } | { obstacle: string }
  }
}

/** Vitest calls this only when a test that needs a browser is to run; the first run on a machine may fetch one. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const found = await provideChromium().catch((error: Error) => error)
  if (found instanceof Error) {
    process.stderr.write(`[gatehouse] tests in a browser are skipped: ${found.message}\n`)
    project.provide('browser', { obstacle: found.message })
    return undefined
  }
  const { executablePath, env } = found
  // On a small machine tabs would share a process, and with it the process's view of their storage.
  const args = [
    '--renderer-process-limit=100',
    // A machine without a GPU would compute its work in another process, which takes longer.
    '--disable-gpu',
  ]
  const server = await chromium.launchServer({ executablePath, args, env: { ...process.env, ...env }, host: '127.0.0.1' })
  project.provide('browser', { endpoint: server.wsEndpoint() })
  const endCount = countBelow(server.process().pid!)
  return () => {
    endCount()
    return server.close()
  }
}
