// `npm test`: the whole suite, or the files and options given (`npm test -- login`).
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { summaryKey } from '../test/support/plain-summary.ts'

process.on('exit', (code) => {
  if (code !== 0 && !(summaryKey in globalThis)) process.stdout.write('0 passed, 1 failed\n')
})

process.stderr.write('[gatehouse] running the tests on SQLite and on PostgreSQL\n')
// Vitest runs in this very process, so that a signal to it needs no passing on.
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
process.argv = [process.execPath, vitest, 'run', ...process.argv.slice(2)]
await import(pathToFileURL(vitest).href)
