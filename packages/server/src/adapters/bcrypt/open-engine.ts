import { randomBytes } from 'node:crypto'
import type { BcryptEngine } from './bcrypt-engine.ts'
import { LaneEngine } from './lane-engine.ts'
import { laneCount } from './lane-program.ts'
import { Lanes } from './lanes.ts'
import { ReferenceEngine } from './reference-engine.ts'

/** The lowest cost that bcrypt allows. */
const cost = 4

interface OpenedEngine {
  engine: BcryptEngine
  /** Why bcryptjs had to take over from the lanes. */
  fallback?: string
}

interface Parts {
  /** What `laneProgram(laneCount)` returned to another thread. */
  program?: Uint8Array<ArrayBuffer> | undefined
  reference?: BcryptEngine
}

/** Returns the lanes if they agree with the reference on random passwords, otherwise the reference. */
export async function openEngine({ program, reference = new ReferenceEngine() }: Parts = {}): Promise<OpenedEngine> {
  try {
    const engine = new LaneEngine(new Lanes(laneCount, program))
    await compare(engine, reference)
    return { engine }
  } catch (error) {
    return { engine: reference, fallback: error instanceof Error ? error.message : String(error) }
  }
}

/** Compares the engines for each number of lanes, since each number has separate code. Throws if a digest differs. */
async function compare(engine: BcryptEngine, reference: BcryptEngine): Promise<void> {
  const jobs = Array.from({ length: laneCount }, (_, index) => ({
    password: randomBytes(4 + 9 * index).toString('base64'),
    salt: randomBytes(16),
    cost,
    costAtLeast: cost,
  }))
  const expected = await Promise.all(jobs.map((job) => reference.digest(job)))
  for (let lanes = 1; lanes <= laneCount; lanes += 1) {
    const digests = await Promise.all(jobs.slice(0, lanes).map((job) => engine.digest(job)))
    const isEqual = digests.every((digest, index) => Buffer.compare(digest, expected[index] ?? Buffer.alloc(0)) === 0)
    if (!isEqual) throw new Error(`with ${lanes} lanes, a hash differs from that of bcryptjs`)
  }
}
