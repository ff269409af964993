// What the kernel says of a process (Linux).
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** Whether this system tells. */
export const tellsOfProcesses = existsSync('/proc/self/fd')

/** Files, sockets and pipes that it holds open. */
export function countFiles(pid: number): number {
  return tellsOfProcesses ? readdirSync(`/proc/${pid}/fd`).length : Number.NaN
}

/** Resident memory in MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)![1]) / 1_024
}
