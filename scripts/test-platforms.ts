// `npm run test:platforms` tests the SDK as npm packs it, on every supported runtime, under every framework, and with every way
// of resolving types. Ends with a table of each. `run.mjs` fetches the Nodes; the rest is installed in test/platforms, once.
import { execFileSync } from 'node:child_process'
import { delimiter } from 'node:path'
import { frameworkTrials } from '../test/platforms/frameworks.ts'
import { type Matrix, tryAll } from '../test/platforms/matrix.ts'
import { runtimeTrials } from '../test/platforms/runtimes.ts'
import { typeTrials } from '../test/platforms/types.ts'
import { openWorkplace } from '../test/platforms/workplace.ts'

if (process.env.SDK_NODES === undefined) throw new Error('run this as npm run test:platforms')
const nodes = process.env.SDK_NODES.split(delimiter).map((program) => ({
  program,
  name: `Node ${execFileSync(program, ['--version'], { encoding: 'utf8' }).trim().slice(1)}`,
}))

const work = openWorkplace()
const matrices: Matrix[] = []
try {
  matrices.push(await tryAll('Runtimes', await runtimeTrials(work, nodes)))
  matrices.push(await tryAll('Types', typeTrials(work)))
  matrices.push(await tryAll('Frameworks', frameworkTrials(work, nodes)))
} finally {
  work.remove()
}
for (const { table } of matrices) console.log(`\n${table}`)
const faults = matrices.flatMap((matrix) => matrix.faults)
for (const fault of faults) console.log(`\n${fault}`)
process.exitCode = faults.length === 0 ? 0 : 1
