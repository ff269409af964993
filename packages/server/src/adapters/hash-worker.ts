import { setPriority } from 'node:os'
import bcrypt from 'bcryptjs'
import { bcryptCost, costsBetween, hashOfNobody } from '../lib/password-hash.ts'

// On Linux this lowers this thread alone: the event loop that answers everybody else goes first on a busy machine.
try {
  setPriority(0, 10)
} catch {}

export type HashJob =
  | { kind: 'hash'; input: string; cost: number }
  /** A hash of a lower cost than `cost` takes as long as one of that cost. */
  | { kind: 'verify'; input: string; hash: string; cost: number }

export interface HashAnswer {
  result: string | boolean
  /** The time that the job took here, without its wait for the thread. */
  workedMs: number
  /** The rounds of bcrypt that were run. */
  rounds: number
}

/** The body of one worker thread: bcryptjs in its synchronous form, since nothing else shares this thread. */
export default function run(job: HashJob): HashAnswer {
  const started = performance.now()
  const { result, rounds } = job.kind === 'hash' ? hash(job) : verify(job)
  return { result, rounds, workedMs: performance.now() - started }
}

function hash({ input, cost }: HashJob & { kind: 'hash' }) {
  return { result: bcrypt.hashSync(input, cost), rounds: 2 ** cost }
}

/** Otherwise the time would tell whose hash was imported with a lower cost, and so who has an account. */
function verify({ input, hash, cost }: HashJob & { kind: 'verify' }) {
  const own = bcryptCost(hash)!
  const result = bcrypt.compareSync(input, hash)
  let rounds = 2 ** own
  for (const missing of costsBetween(own, cost)) {
    bcrypt.compareSync(input, hashOfNobody(missing))
    rounds += 2 ** missing
  }
  return { result, rounds }
}
