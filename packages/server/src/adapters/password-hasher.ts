import { setImmediate as nextTurn } from 'node:timers/promises'
import { Piscina } from 'piscina'
import { bcryptCost, bcryptInput, hashOfNobody } from '../lib/password-hash.ts'
import { HashQueueFullError } from '../lib/unavailable.ts'
import { laneCount } from './bcrypt/lane-program.ts'
import { FairQueue, type Line, type Taken } from './fair-queue.ts'
import { HashBacklog } from './hash-backlog.ts'
import type { FallbackNotice, HashAnswer, HashJob } from './hash-worker.ts'

/** Told of each hash how long it waited for a lane and what it cost, or that it was refused. */
export interface HashObserver {
  worked(waitedSeconds: number, rounds: number): void
  refused(): void
  /** The threads do without the lanes, for this reason; told once. */
  fellBack(reason: string): void
}

const nobody: HashObserver = { worked() {}, refused() {}, fellBack() {} }

/** So long after two sources came one after the other, there is room for a third. */
const keepsRoomForMs = 5_000

interface WaitingJob {
  job: HashJob
  cost: number
  asked: number
  resolve(result: string | boolean): void
  reject(error: unknown): void
}

/**
 * bcrypt in worker threads, so that no number of logins stops the event loop. Each thread has lanes, and works on as many passwords at
 * once. Jobs wait in lines that are served in turn, as many as can be done within a bounded wait; past that the newest of the longest
 * line is refused. A source that is alone has all lanes. Where several come, each has at most half of them: whoever comes next finds a
 * free one, in a thread that has less to do beside.
 * Every verification costs what one bcrypt at the configured cost does, also for users that do not exist and for hashes of a lower cost.
 */
export class PasswordHasher {
  readonly cost: number
  readonly #threads: number
  #pool: Piscina | undefined
  readonly #observer: HashObserver
  readonly #backlog: HashBacklog
  readonly #waiting = new FairQueue<WaitingJob>()
  #jobsPerThread = laneCount
  #running = 0
  #lastSource: string | undefined
  #keepsRoomUntil = 0
  #handedOut = Promise.resolve()

  constructor(options: { cost: number; threads: number; observer?: HashObserver }) {
    this.cost = options.cost
    this.#threads = options.threads
    this.#observer = options.observer ?? nobody
    this.#backlog = new HashBacklog()
  }

  /** Starts all threads and keeps them. Otherwise each starts when there is work for it, and ends when there was none for a while. */
  warmUp(): void {
    this.#pool ??= this.#open(this.#threads)
  }

  #open(minThreads: number): Piscina {
    const file = import.meta.url.endsWith('.ts') ? './hash-worker.ts' : './hash-worker.js'
    const pool = new Piscina({
      filename: new URL(file, import.meta.url).href,
      minThreads,
      maxThreads: this.#threads,
      concurrentTasksPerWorker: laneCount,
      // A hash needs next to nothing; without a limit each thread would let its heap grow before it cleans up.
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
      idleTimeout: 30_000,
      // Nobody reads its histograms of waits and runs.
      recordTiming: false,
    })
    return pool.once('message', ({ fallback }: FallbackNotice) => {
      this.#jobsPerThread = 1
      this.#observer.fellBack(fallback)
    })
  }

  /** Hashes that wait for a lane of a thread now. */
  get queueLength(): number {
    return this.#waiting.size
  }

  /** Hashes a password at the configured cost. Throws HashQueueFullError. */
  async hash(password: string, line: Line): Promise<string> {
    const hash = await this.#run({ kind: 'hash', input: bcryptInput(password), cost: this.cost }, this.cost, line)
    if (typeof hash !== 'string') throw new Error('the worker made no hash')
    return hash
  }

  /**
   * Whether the password belongs to the hash. Without a hash (an unknown user, one without a password) it takes as long and is
   * false. Throws HashQueueFullError.
   */
  async verify(password: string, hash: string | null | undefined, line: Line): Promise<boolean> {
    const usableCost = hash ? bcryptCost(hash) : undefined
    const compared = hash && usableCost !== undefined ? hash : hashOfNobody(this.cost)
    const job: HashJob = { kind: 'verify', input: bcryptInput(password), hash: compared, cost: this.cost }
    const matches = await this.#run(job, Math.max(usableCost ?? 0, this.cost), line)
    return matches === true && usableCost !== undefined
  }

  /** Whether a hash was made at another cost than the configured one and is due for an upgrade at the next login. */
  needsUpgrade(hash: string): boolean {
    return bcryptCost(hash) !== this.cost
  }

  async close(): Promise<void> {
    for (let taken = this.#waiting.next(); taken; taken = this.#waiting.next())
      taken.item.reject(new Error('the hasher was closed'))
    await this.#pool?.destroy()
  }

  #run(job: HashJob, cost: number, line: Line): Promise<string | boolean> {
    const isFull = this.#backlog.isFull(this.#atOnce)
    this.#see(line.source ?? line.key)
    return new Promise((resolve, reject) => {
      this.#backlog.add(cost)
      this.#waiting.add(line, { job, cost, asked: performance.now(), resolve, reject })
      if (isFull) this.#refuseOne()
      this.#startNext()
    })
  }

  #refuseOne(): void {
    const refused = this.#waiting.takeNewest()
    if (!refused) return
    this.#backlog.remove(refused.cost)
    this.#observer.refused()
    refused.reject(new HashQueueFullError())
  }

  get #atOnce(): number {
    return this.#threads * this.#jobsPerThread
  }

  #see(source: string): void {
    if (this.#lastSource !== undefined && source !== this.#lastSource) this.#keepsRoomUntil = performance.now() + keepsRoomForMs
    this.#lastSource = source
  }

  get #mostOfOneSource(): number {
    return performance.now() < this.#keepsRoomUntil ? Math.ceil(this.#atOnce / 2) : this.#atOnce
  }

  #startNext(): void {
    while (this.#running < this.#atOnce) {
      const taken = this.#waiting.next(this.#mostOfOneSource)
      if (!taken) return
      this.#running += 1
      this.#work(taken).then(taken.item.resolve, taken.item.reject)
    }
  }

  async #work({ item: { job, cost, asked }, release }: Taken<WaitingJob>): Promise<string | boolean> {
    this.#pool ??= this.#open(0)
    try {
      const { result, workedMs, rounds }: HashAnswer = await this.#pool.run(job)
      this.#backlog.learn(cost, workedMs)
      this.#observer.worked(Math.max(0, performance.now() - asked - workedMs) / 1_000, rounds)
      return result
    } finally {
      this.#backlog.remove(cost)
      this.#running -= 1
      release()
      this.#startNext()
      await this.#ownTurn()
    }
  }

  /** Results that come together are handed out in a turn of the event loop each: what else there is to do comes between. */
  #ownTurn(): Promise<void> {
    this.#handedOut = this.#handedOut.then(() => nextTurn())
    return this.#handedOut
  }
}
