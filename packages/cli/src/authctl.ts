#!/usr/bin/env node
import { setTimeout as sleep } from 'node:timers/promises'
import envPaths from 'env-paths'
import { isChangingContexts } from './command-line/contexts.ts'
import { endings } from './command-line/exit-codes.ts'
import { main } from './main.ts'

/** After Ctrl-C a renewal that is nearly done may finish within this time. */
const longestWaitMs = 150

function leave(exit: () => never): void {
  if (!isChangingContexts()) exit()
  setInterval(() => !isChangingContexts() && exit(), 10)
  setTimeout(exit, longestWaitMs)
}

// A reader that closes the pipe early (`| head -1`) is not a failure. A full disk is.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`authctl: cannot write the result: ${error.message}\n`)
  leave(() => process.exit(error.code === 'EPIPE' ? endings.done.exit : endings.invalid.exit))
})
// Where not even a complaint can be written, the exit code tells.
process.stderr.on('error', () => {})
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
  fetch: globalThis.fetch,
  now: Date.now,
  sleep: (milliseconds) => sleep(milliseconds),
  configFolder: envPaths('authctl', { suffix: '' }).config,
  onInterrupt: (words) => {
    lastWords.add(words)
    return () => void lastWords.delete(words)
  },
})
