#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'

// better-sqlite3 crashes an older Node without a message; it is loaded with the first connection, so this comes in time.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`gatehouse: Node 24.15 or newer is needed; this is ${process.version}\n`)
  process.exit(1)
}
// What lives stays near 40 MB. On a machine with much memory V8 would let garbage grow to many times that before it looks; looking
// sooner costs a few percent of processor time. It heeds this only before the program is loaded.
for (const flag of ['--max-semi-space-size=4', '--semi-space-growth-factor=1', '--heap-growing-percent=20'])
  setFlagsFromString(flag)

const { runProgram } = await import('./program.ts')
await runProgram()
