import { setImmediate as nextTurn } from 'node:timers/promises'
import { Piscina } from 'piscina'
import { bcryptCost, bcryptInput, hashOfNobody } from '../lib/password.ts'
import { HashQueueFullError } from '../lib/unavailable.ts'
import { laneCount, laneProgram } from './bcrypt/lane-program.ts'
import { FairQueue, type Line, type TakenItem } from './fair-queue.ts'
import type { FallbackNotice, HashAnswer, HashJob } from './hash-worker.ts'

/** Is notified of each hash: how long it waited for a lane and what it cost, or that it was refused. */
export interface HashObserver {
  worked(waitedSeconds: number, rounds: number): void
  refused(): void
  /** The threads cannot use the lanes, for this reason. Called once. */
  fellBack(reason: string): void
}

const nobody: HashObserver = { worked() {}, refused() {}, fellBack() {} }

/** How long one source is limited to half of the lanes after a change of source. */
const keepsRoomForMs = 5_000

interface WaitingJob {
  job: HashJob
  cost: number
  asked: number
  resolve(result: string | boolean): void
  reject(error: unknown): void
}

/**
 * bcrypt in worker threads, so that logins never block the event loop. Each thread has lanes, and works on one password per lane
 * at once. Jobs wait in lines that are served in turn. If the wait would be too long, the newest job of the longest line is
 * refused. A single source may use all lanes. If there are several, each gets at most half of them, so the next source finds a
 * free one, in a thread that is less busy. Every verification costs as much as one bcrypt at the configured cost, also for
 * unknown users and for hashes of a lower cost.
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

  /** Starts all threads and keeps them. Without this call, each starts on demand, and ends after a while without work. */
  warmUp(): void {
    this.#pool ??= this.#open(this.#threads)
  }

  #open(minThreads: number): Piscina {
    const isSource = import.meta.url.endsWith('.ts')
    const pool = new Piscina({
      filename: new URL(isSource ? './hash-worker.ts' : './hash-worker.js', import.meta.url).href,
      // Generating the program takes memory that a thread would keep, so only this thread does it.
      workerData: laneProgram(laneCount),
      minThreads,
      maxThreads: this.#threads,
      concurrentTasksPerWorker: laneCount,
      // A thread needs about 5 MB, and more only while it strips the types of the sources. V8 lets garbage grow to half of the
      // limit before it collects it.
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: isSource ? 32 : 12 },
      idleTimeout: 30_000,
      // Its histograms of wait and run times are not used.
      recordTiming: false,
    })
    return pool.once('message', ({ fallback }: FallbackNotice) => {
      this.#jobsPerThread = 1
      this.#observer.fellBack(fallback)
    })
  }

  /** How many hashes are waiting for a lane. */
  get queueLength(): number {
    return this.#waiting.size
  }

  /** Hashes a password at the configured cost. Throws HashQueueFullError. */
  async hash(password: string, line: Line): Promise<string> {
    const hash = await this.#run({ kind: 'hash', input: bcryptInput(password), cost: this.cost }, this.cost, line)
    if (typeof hash !== 'string') throw new Error('the worker returned no hash')
    return hash
  }

  /**
   * Whether the password matches the hash. Without a hash (an unknown user, or one without a password) it takes just as long and
   * returns false. Throws HashQueueFullError.
   */
  async verify(password: string, hash: string | null | undefined, line: Line): Promise<boolean> {
    const usableCost = hash ? bcryptCost(hash) : undefined
    const compared = hash && usableCost !== undefined ? hash : hashOfNobody(this.cost)
    const job: HashJob = { kind: 'verify', input: bcryptInput(password), hash: compared, cost: this.cost }
    const matches = await this.#run(job, Math.max(usableCost ?? 0, this.cost), line)
    return matches === true && usableCost !== undefined
  }

  /** Whether a hash has another cost than the configured one, so that the next login should upgrade it. */
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

  async #work({ item: { job, cost, asked }, release }: TakenItem<WaitingJob>): Promise<string | boolean> {
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

  /** Hands out results one per turn of the event loop, so that other work runs between results that arrive together. */
  #ownTurn(): Promise<void> {
    this.#handedOut = this.#handedOut.then(() => nextTurn())
    return this.#handedOut
  }
}

/** Callers give up after a few seconds, and a hash that finishes later is wasted. */
const maxWaitMs = 3_000
/** Limits the memory when hashes are so cheap that many fit into that time. */
const maxJobs = 5_000
/** The weight of the latest hash in the moving average, which reflects about the last twenty. */
const latestShare = 0.05

interface Load {
  /** Jobs of this cost that wait or run. */
  jobs: number
  /** The measured time of one hash. */
  ms: number
}

/** How long a hash takes on a typical server with all lanes taken: 80 ms at cost 10, doubling with each cost step. */
function estimatedMs(cost: number): number {
  return 80 * 2 ** (cost - 10)
}

/** The hashes that wait or run, and how long another one would wait at the measured rate. */
export class HashBacklog {
  readonly #loads = new Map<number, Load>()

  /** Whether to refuse further hashes, if `atOnce` of them run at the same time. */
  isFull(atOnce: number): boolean {
    let jobs = 0
    let workMs = 0
    for (const load of this.#loads.values()) {
      jobs += load.jobs
      workMs += load.jobs * load.ms
    }
    return jobs >= maxJobs || (jobs >= atOnce && workMs / atOnce > maxWaitMs)
  }

  add(cost: number): void {
    this.#loadOf(cost).jobs += 1
  }

  remove(cost: number): void {
    this.#loadOf(cost).jobs -= 1
  }

  /** Moves the average for this cost towards the time that a hash just took. */
  learn(cost: number, workedMs: number): void {
    const load = this.#loadOf(cost)
    load.ms += latestShare * (workedMs - load.ms)
  }

  #loadOf(cost: number): Load {
    const load = this.#loads.get(cost) ?? { jobs: 0, ms: estimatedMs(cost) }
    this.#loads.set(cost, load)
    return load
  }
}
