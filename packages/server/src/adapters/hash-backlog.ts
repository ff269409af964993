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
