#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8'

// better-sqlite3 crashes an older Node without a message. It loads with the first connection, so this check runs before that.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`gatehouse: Node 24.15 or newer is required; this is ${process.version}\n`)
  process.exit(1)
}
// A short command would only take longer with these flags.
if (process.argv.includes('serve')) {
  // Live objects take about 40 MB. On a machine with much memory, V8 would let garbage grow to many times that before it collects:
  // 30 MB more right after the start, and 45 MB more after some sign-ins.
  // Collecting sooner costs a few percent of CPU time.
  const heap = ['--max-semi-space-size=4', '--semi-space-growth-factor=1', '--heap-growing-percent=20']
  // Hot code skips V8's middle compiler and reaches the best one sooner. A server that has answered a few thousand requests then
  // needs less CPU time and less memory (docs/performance.md).
  const compilers = ['--no-maglev', '--invocation-count-for-turbofan=800']
  // V8 respects these flags only before the program is loaded.
  for (const flag of [...heap, ...compilers]) setFlagsFromString(flag)
}

const { runProgram } = await import('./program.ts')
await runProgram()
