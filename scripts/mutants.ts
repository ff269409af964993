// `npm run mutants` plants faults one by one (`test/mutants/faults.ts`), runs the tests beside each, and prints how many were
// caught. `npm run mutants -- lockout` plants only those with that word in their title or file. A fault is planted while Vitest
// loads the file, and in the programs that tests start, so the sources on disk stay unchanged. Exits with 1 if a fault no longer
// fits its file, or if fewer than 95 % are caught.
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { startVitest, type Vite } from 'vitest/node'
import { plantedFaults } from '../test/mutants/faults.ts'
import { misfitOf, type PlantedFault } from '../test/mutants/planted-fault.ts'
import { faultVariable } from '../test/support/programs.ts'

const leastCaught = 0.95
const root = join(import.meta.dirname, '..')

/** Whether a test fails with the fault in place. */
async function isCaught({ file, search, replace, tests, database = 'sqlite' }: PlantedFault): Promise<boolean> {
  const path = join(root, file)
  const plant: Vite.Plugin = {
    name: 'planted-fault',
    enforce: 'pre',
    transform: (code, id) => (id.split('?')[0] === path ? code.replace(search, () => replace) : undefined),
    // Vitest caches transformed files, and would take the file without the fault from there.
    configureVitest: ({ defineCacheKeyGenerator }) =>
      defineCacheKeyGenerator(({ id }) => (id.split('?')[0] === path ? false : undefined)),
  }
  process.env[faultVariable] = JSON.stringify({ path, search, replace })
  // The failure itself is the result here, so its message is not reported.
  const options = { watch: false, bail: 1, project: [database], reporters: [{}], root }
  const vitest = await startVitest('test', [...tests], options, { plugins: [plant] })
  const ran = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()])
  const failed = ran.some((test) => test.result().state === 'failed')
  // A fault that keeps a file from loading is caught by no test.
  const unloaded = vitest.state.getTestModules().flatMap((module) => module.errors())
  await vitest.close()
  if (ran.length === 0 || (!failed && unloaded.length > 0))
    throw new Error(`no test was run: ${unloaded[0]?.message ?? tests.join(', ')}`)
  return failed
}

const words = process.argv.slice(2)
const chosen = plantedFaults.filter(({ title, file }) => words.every((word) => title.includes(word) || file.includes(word)))
const load = loadavg()[0]!.toFixed(1)
console.log(`${cpus().length} cores, Node ${process.version}, load ${load} at the start`)
const misfits = chosen.filter((fault) => {
  const why = misfitOf(fault)
  if (why) console.log(`does not fit: ${fault.title}: ${why}`)
  return why
})
let caught = 0
for (const fault of chosen.filter((fault) => !misfits.includes(fault))) {
  const isSeen = await isCaught(fault)
  if (isSeen) caught += 1
  console.log(`${isSeen ? 'caught  ' : 'SURVIVED'}  ${fault.title}`)
}
console.log(`${caught} caught / ${chosen.length} planted`)
process.exit(misfits.length > 0 || caught < leastCaught * chosen.length ? 1 : 0)
