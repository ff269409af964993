// Checks that each fault of `npm run mutants` fits the source it is planted in. If you change such a line, change its fault too.
import { misfitOf, plantedFaults } from '../test/mutants/faults.ts'

for (const fault of plantedFaults) {
  const why = misfitOf(fault)
  if (!why) continue
  console.error(`test/mutants/faults.ts: ${fault.title}: ${why}`)
  process.exitCode = 1
}
