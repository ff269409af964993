// Reads what the kernel reports about a process (Linux).
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Whether this system provides the figures. */
export const tellsOfProcesses = existsSync('/proc/self/fd')

/** How many files, sockets and pipes a process holds open. */
export function countFiles(pid: number): number {
  return tellsOfProcesses ? readdirSync(`/proc/${pid}/fd`).length : Number.NaN
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1_024
}

/** The unit in which the kernel counts processor time. */
const ticksPerSecond = 100

interface Times {
  parent: number
  /** Processor seconds of the process itself. */
  own: number
  /** Processor seconds of the children that it has waited for, and of their children. */
  waited: number
}

function timesOf(pid: number | 'self'): Times | undefined {
  try {
    // The process name, in brackets, may contain any character.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
      .map(Number)
    const [own, waited] = [fields[11]! + fields[12]!, fields[13]! + fields[14]!]
    return { parent: fields[1]!, own: own / ticksPerSecond, waited: waited / ticksPerSecond }
  } catch {
    return undefined
  }
}

/** Processor seconds of the children that this process has waited for; 0 if the system does not provide them. */
export function waitedSeconds(): number {
  return timesOf('self')?.waited ?? 0
}

/** Processor seconds of a process and of each of its present descendants, by process id. */
export function treeSeconds(root: number): Map<number, number> {
  if (!tellsOfProcesses) return new Map()
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const all = new Map(pids.map((pid) => [Number(pid), timesOf(Number(pid))]))
  const isBelow = (pid: number | undefined): boolean => pid !== undefined && (pid === root || isBelow(all.get(pid)?.parent))
  return new Map([...all].flatMap(([pid, times]) => (times && isBelow(pid) ? [[pid, times.own]] : [])))
}
