// What a run of the tests took: wall time, and processor time with that of all the processes that it started.
import { tellsOfProcesses, treeSeconds, waitedSeconds } from './process-figures.ts'

/** Seconds that the kernel did not add to ours, of processes that ended without being waited for. Global: vitest loads files anew. */
const key = Symbol.for('gatehouse.unseen-seconds')
const shared = globalThis as { [key]?: number }

const lookMs = 500

/** Counts the processes below a program that does not wait for them, until what this returns is called. The program itself we wait for. */
export function countBelow(pid: number): () => void {
  const seen = new Map<number, number>()
  const look = () => {
    for (const [each, seconds] of treeSeconds(pid)) if (each !== pid) seen.set(each, seconds)
  }
  const timer = setInterval(look, lookMs).unref()
  return () => {
    clearInterval(timer)
    look()
    for (const seconds of seen.values()) shared[key] = (shared[key] ?? 0) + seconds
  }
}

/** One line, at the very end of the process. */
export function describeRun(): string {
  const wall = `${Math.round(performance.now() / 1_000)} s`
  const { user, system } = process.cpuUsage()
  const seconds = (user + system) / 1e6 + waitedSeconds() + (shared[key] ?? 0)
  return tellsOfProcesses ? `${wall}, ${Math.round(seconds)} CPU-s` : wall
}
