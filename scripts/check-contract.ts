// Every sentence of docs/contract has a test, and every test that names one names one that is there.
import { readCoverage } from './contract-coverage.ts'

const { faults } = readCoverage()
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
