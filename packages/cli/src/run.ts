import { setTimeout as sleep } from 'node:timers/promises'
import { isChangingContexts } from './command-line/contexts.ts'
import { endings } from './command-line/exit-codes.ts'
import { main } from './main.ts'
import { exchangeHttp } from './network/exchange-http.ts'
import { findBrowser } from './terminal/find-browser.ts'
import { guardOutput } from './terminal/guard-output.ts'

/** After Ctrl-C, a token renewal that is nearly done may finish within this time. */
const longestWaitMs = 150

function leave(exit: () => never): void {
  if (!isChangingContexts()) exit()
  setInterval(() => !isChangingContexts() && exit(), 10)
  setTimeout(exit, longestWaitMs)
}

/** Runs the command line of this process. */
export async function run(configFolder: string): Promise<void> {
  guardOutput(leave)
  const lastWords = new Set<() => void>()
  process.on('SIGINT', () =>
    leave(() => {
      for (const say of lastWords) say()
      process.exit(endings.interrupted.exit)
    }),
  )

  process.exitCode = await main(process.argv.slice(2), {
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    exchange: exchangeHttp,
    now: Date.now,
    sleep: (milliseconds) => sleep(milliseconds),
    configFolder,
    openBrowser: findBrowser(process.env),
    onInterrupt: (words) => {
      lastWords.add(words)
      return () => void lastWords.delete(words)
    },
    leave: (exit) => leave(() => process.exit(exit)),
  })
}
