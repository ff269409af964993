import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { openEngine } from './bcrypt/open-engine.ts'
import { BcryptScheme } from './bcrypt-scheme.ts'
import { schemeOf } from './password-scheme.ts'

// On Linux this lowers this thread alone: the event loop that answers everybody else goes first on a busy machine.
try {
  setPriority(0, Math.min(getPriority(0) + 10, 19))
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

/** What a thread says at its start if it must do without the lanes: then it takes one job at a time. */
export interface FallbackNotice {
  fallback: string
}

const { engine, fallback } = await openEngine()
if (fallback !== undefined) parentPort?.postMessage({ fallback } satisfies FallbackNotice)
const bcrypt = new BcryptScheme(engine)
const schemes = [bcrypt]

/** One job of a worker thread, which may have as many at once as there are lanes. */
export default async function run(job: HashJob): Promise<HashAnswer> {
  const started = performance.now()
  const { result, rounds } = job.kind === 'hash' ? await hash(job) : await verify(job)
  return { result, rounds, workedMs: performance.now() - started }
}

async function hash({ input, cost }: HashJob & { kind: 'hash' }) {
  return { result: await bcrypt.hash(input, cost), rounds: 2 ** cost }
}

async function verify({ input, hash, cost }: HashJob & { kind: 'verify' }) {
  const { matches, rounds } = await schemeOf(hash, schemes).verify(hash, input, cost)
  return { result: matches, rounds }
}
