// `npm test`: the fast lane. With --full everything; with files or options of vitest (`npm test -- login`) those of everything. --weigh
// keeps what each file took, for the order of later runs.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { laneVariable, weighVariable } from '../test/support/lane.ts'
import { summaryKey } from '../test/support/plain-summary.ts'

process.on('exit', (code) => {
  if (code !== 0 && !(summaryKey in globalThis)) process.stdout.write('0 passed, 1 failed\n')
})

const words = process.argv.slice(2)
const chosen = words.filter((word) => word !== '--full' && word !== '--weigh')
const lane = words.length === 0 ? 'fast' : chosen.length === 0 ? 'full' : 'chosen'
process.env[laneVariable] = lane
if (words.includes('--weigh')) process.env[weighVariable] = 'yes'

const what = { fast: 'the fast lane (all of it: npm test -- --full)', full: 'all tests', chosen: 'the chosen tests' }[lane]
process.stderr.write(`[gatehouse] running ${what} on SQLite and on PostgreSQL\n`)
// Vitest runs in this very process, so that a signal to it needs no passing on.
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
process.argv = [process.execPath, vitest, 'run', ...chosen]
await import(pathToFileURL(vitest).href)
