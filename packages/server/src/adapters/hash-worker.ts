import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import { openEngine } from './bcrypt/open-engine.ts'
import { BcryptScheme } from './bcrypt-scheme.ts'
import { schemeOf } from './password-scheme.ts'

// On Linux this lowers the priority of this thread only, so that the event loop goes first on a busy machine.
try {
  setPriority(0, Math.min(getPriority(0) + 10, 19))
} catch {}

export type HashJob =
  | { kind: 'hash'; input: string; cost: number }
  /** A hash of a lower cost than `cost` takes as long as one of that cost. */
  | { kind: 'verify'; input: string; hash: string; cost: number }

export interface HashAnswer {
  result: string | boolean
  /** How long the job took, without its wait for the thread. */
  workedMs: number
  /** The rounds of bcrypt that were run. */
  rounds: number
}

/** A thread sends this at its start if it cannot use the lanes. It then runs one job at a time. */
export interface FallbackNotice {
  fallback: string
}

const { engine, fallback } = await openEngine()
if (fallback !== undefined) parentPort?.postMessage({ fallback } satisfies FallbackNotice)
const bcrypt = new BcryptScheme(engine)
const schemes = [bcrypt]

/** Runs one job. A worker thread may run as many jobs at once as there are lanes. */
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
