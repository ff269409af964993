/** Callers give up after a few seconds, and a hash that nobody waits for any more is wasted. */
const maxWaitMs = 3_000
/** Bounds the memory where hashes are so cheap that many fit into that time. */
const maxJobs = 5_000
/** The weight of the latest hash in the measure: that of about the last twenty counts. */
const latestShare = 0.05

interface Load {
  /** Jobs of this cost that wait or run. */
  jobs: number
  /** How long one takes, as measured. */
  ms: number
}

/** How long a hash takes on a common server while all lanes are taken: 80 ms at cost 10, and twice as long at each further cost. */
function estimatedMs(cost: number): number {
  return 80 * 2 ** (cost - 10)
}

/** The hashes that wait or run, and how long a further one would wait at the rate that has been measured. */
export class HashBacklog {
  readonly #loads = new Map<number, Load>()

  /** Where `atOnce` hashes are worked on at the same time. */
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

  /** Moves the measure of this cost towards what a hash just took. */
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
