// Checks that every sentence of docs/reference/contract has a test, and that every sentence named by a test exists.
import { readCoverage } from './contract-coverage.ts'

const { faults } = readCoverage()
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
