import { setPriority } from 'node:os'
import bcrypt from 'bcryptjs'

// On Linux this lowers this thread alone: the event loop that answers everybody else goes first on a busy machine.
try {
  setPriority(0, 10)
} catch {}

export type HashJob = { kind: 'hash'; input: string; cost: number } | { kind: 'verify'; input: string; hash: string }

export interface HashAnswer {
  result: string | boolean
  /** The time that the job took here, without its wait for the thread. */
  workedMs: number
}

/** The body of one worker thread: bcryptjs in its synchronous form, since nothing else shares this thread. */
export default function run(job: HashJob): HashAnswer {
  const started = performance.now()
  const result = job.kind === 'hash' ? bcrypt.hashSync(job.input, job.cost) : bcrypt.compareSync(job.input, job.hash)
  return { result, workedMs: performance.now() - started }
}
