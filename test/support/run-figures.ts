// Measures a test run: wall time, and processor time including that of all processes that it started.
import { tellsOfProcesses, treeSeconds, waitedSeconds } from './process-figures.ts'

/**
 * Processor seconds of processes that ended without being waited for, so that the kernel did not add them to ours. Global,
 * because vitest loads files again.
 */
const key = Symbol.for('gatehouse.unseen-seconds')
const shared = globalThis as { [key]?: number }

const lookMs = 2_000

/**
 * Counts the descendants of a program that does not wait for them, until you call the returned function. The program itself is
 * not counted, since we wait for it.
 */
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

/** Describes the run in one line. Call it at the very end of the process. */
export function describeRun(): string {
  const wall = `${Math.round(performance.now() / 1_000)} s`
  const { user, system } = process.cpuUsage()
  const seconds = (user + system) / 1e6 + waitedSeconds() + (shared[key] ?? 0)
  return tellsOfProcesses ? `${wall}, ${Math.round(seconds)} CPU-s` : wall
}
