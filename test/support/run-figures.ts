// What a run of the tests took: wall time, and processor time with that of all the processes that it started.
import { tellsOfProcesses, treeSeconds, waitedSeconds } from './process-figures.ts'

/** Seconds that the kernel did not add to ours, of processes that ended without being waited for. Global: vitest loads files anew. */
const key = Symbol.for('gatehouse.unseen-seconds')
const shared = globalThis as { [key]?: number }

/** Ends a program whose children nobody waits for, and keeps what they took. */
export async function endCounted(pid: number, end: () => Promise<void>): Promise<void> {
  const [taken, before] = [treeSeconds(pid), waitedSeconds()]
  await end()
  shared[key] = (shared[key] ?? 0) + Math.max(0, taken - (waitedSeconds() - before))
}

/** One line, at the very end of the process. */
export function describeRun(): string {
  const wall = `${Math.round(performance.now() / 1_000)} s`
  const { user, system } = process.cpuUsage()
  const seconds = (user + system) / 1e6 + waitedSeconds() + (shared[key] ?? 0)
  return tellsOfProcesses ? `${wall}, ${Math.round(seconds)} CPU-s` : wall
}
