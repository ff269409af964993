// `npm run faults` runs the long form of test/faults, one after another, or only those named: `npm run faults -- soak`. It takes
// under half an hour and prints one table.
import { createRequire } from 'node:module'
import { cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { longFormVariable } from '../test/support/fault.ts'

const load = loadavg()[0]!.toFixed(1)
console.log(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.version}, load ${load} at the start\n`,
)
process.env[longFormVariable] = 'yes'

const named = process.argv.slice(2)
const files = named.length > 0 ? named.map((name) => `test/faults/${name}`) : ['test/faults/']
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const options = ['--project', 'faults', '--no-file-parallelism', '--reporter', './test/support/fault-table.ts']
process.argv = [process.execPath, vitest, 'run', ...options, ...files]
await import(pathToFileURL(vitest).href)
