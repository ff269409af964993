// `npm test` runs the fast lane. With --full it runs everything. Files or options of Vitest (`npm test -- login`) choose from
// everything. Vitest remembers what failed and how long each file took, and starts with those.
import { createRequire, enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileCache } from '../test/support/compile-cache.ts'
import { laneVariable } from '../test/support/lane.ts'
import { summaryKey } from '../test/support/plain-summary.ts'

process.on('exit', (code) => {
  if (code !== 0 && !(summaryKey in globalThis)) process.stdout.write('0 passed, 1 failed\n')
})

const words = process.argv.slice(2)
const chosen = words.filter((word) => word !== '--full')
const lane = words.length === 0 ? 'fast' : chosen.length === 0 ? 'full' : 'chosen'
process.env[laneVariable] = lane

const what = { fast: 'the fast lane (all of it: npm test -- --full)', full: 'all tests', chosen: 'the chosen tests' }[lane]
process.stderr.write(`[gatehouse] running ${what} on SQLite and on PostgreSQL\n`)
// For Vitest, and for its workers, which load our sources. It also holds the sources without their types.
enableCompileCache(compileCache.NODE_COMPILE_CACHE)
Object.assign(process.env, compileCache)
// Vitest runs in this process, so that signals need not be passed on.
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
process.argv = [process.execPath, vitest, 'run', ...chosen]
await import(pathToFileURL(vitest).href)
