#!/usr/bin/env node
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

// better-sqlite3 crashes an older Node without a message. It loads with the first connection, so this check runs before that.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`gatehouse: Node 24.15 or newer is required; this is ${process.version}\n`)
  process.exit(1)
}
// A short command would only take longer with these.
if (process.argv.includes('serve')) {
  // Live objects take about 40 MB. On a machine with much memory, V8 would let garbage grow to many times that before it collects:
  // 30 MB more right after the start, and 45 MB more after some sign-ins.
  setFlagsFromString('--heap-growing-percent=20')
  growSpaceForNewObjects(8 * 2 ** 20)
  // Hot code skips V8's middle compiler and reaches the best one sooner. A server that has answered a few thousand requests then
  // needs less CPU time and less memory (docs/operate/performance.md).
  for (const flag of ['--no-maglev', '--invocation-count-for-turbofan=800']) setFlagsFromString(flag)
}

/**
 * Lets V8's space for new objects grow to `bytes`, and no further. In the 2 MB that it begins with, requests at once outlive its
 * collections, and the server spends a quarter more CPU time; left alone, it grows to 100 MB. V8 takes a limit only from the
 * command line, but reads the factor each time the space may grow, which it does when many objects have outlived a collection.
 */
function growSpaceForNewObjects(bytes: number): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  for (let rounds = 0; rounds < 100 && spaceForNewObjects() < bytes; rounds += 1)
    Array.from({ length: 20_000 }, (_, index) => ({ index, list: [index] }))
  setFlagsFromString('--semi-space-growth-factor=1')
}

function spaceForNewObjects(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
}

const { runProgram } = await import('./program.ts')
await runProgram()
