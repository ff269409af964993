// Reproducible randomness: the same seed gives the same delays.
import { setTimeout as sleep } from 'node:timers/promises'

export interface Chance {
  /** A number from 0 up to 1. */
  next(): number
  /** Waits a random time of up to `maxMs` milliseconds, then runs. */
  soon<T>(maxMs: number, run: () => Promise<T>): Promise<T>
}

/** mulberry32. */
export function chance(seed: number): Chance {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    async soon(maxMs, run) {
      const delay = next() * maxMs
      if (delay >= 1) await sleep(delay)
      return run()
    },
  }
}

/** `count` calls that start together. */
export function atOnce<T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => run(index)))
}
