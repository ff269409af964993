import { randomBytes } from 'node:crypto'
import bcrypt from 'bcryptjs'
import { costsBetween, hashOfNobody } from '../../lib/password.ts'
import { formatBcrypt, parseBcrypt } from './bcrypt-text.ts'
import { laneCount } from './lane-program.ts'
import { Lanes } from './lanes.ts'

interface DigestJob {
  password: string
  /** 16 bytes. */
  salt: Uint8Array
  cost: number
  /** The job takes at least as long as a hash of this cost. */
  costAtLeast: number
}

export interface BcryptEngine {
  /** The 23 bytes that bcrypt computes from a password. */
  digest(job: DigestJob): Promise<Uint8Array>
}

/** bcryptjs: the reference for the lanes, and their fallback. Runs one job at a time. */
export class ReferenceEngine implements BcryptEngine {
  async digest({ password, salt, cost, costAtLeast }: DigestJob): Promise<Uint8Array> {
    const { digest } = parseBcrypt(bcrypt.hashSync(password, formatBcrypt({ cost, salt, digest: new Uint8Array() })))
    for (const missing of costsBetween(cost, costAtLeast)) bcrypt.compareSync(password, hashOfNobody(missing))
    return digest
  }
}

/** Hashes in lanes. The thread accepts new jobs between steps, so a job that comes later joins the running ones. */
export class LaneEngine implements BcryptEngine {
  readonly #lanes: Lanes
  #isRunning = false

  constructor(lanes: Lanes) {
    this.#lanes = lanes
  }

  digest({ password, ...job }: DigestJob): Promise<Uint8Array> {
    return new Promise((done) => {
      const bytes = new TextEncoder().encode(password)
      this.#lanes.start({ ...job, password: bytes, done })
      bytes.fill(0)
      if (!this.#isRunning) this.#run()
    })
  }

  #run(): void {
    this.#isRunning = this.#lanes.taken > 0
    if (!this.#isRunning) return
    setImmediate(() => {
      this.#lanes.step()
      this.#run()
    })
  }
}

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
