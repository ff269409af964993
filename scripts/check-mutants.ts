// Each fault of `npm run mutants` fits the source that it is to be planted in. A change to that line changes its fault too.
import { misfitOf, plantedFaults } from '../test/mutants/faults.ts'

for (const fault of plantedFaults) {
  const why = misfitOf(fault)
  if (!why) continue
  console.error(`test/mutants/faults.ts: ${fault.title}: ${why}`)
  process.exitCode = 1
}
