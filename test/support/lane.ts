/** `fast`, `full` or `chosen`, set by `scripts/test.ts`. Unset, if vitest is called directly, everything runs. */
export const laneVariable = 'TEST_LANE'
/** The folder for what each test saw, set by `npm run record`. */
export const recordVariable = 'TEST_RECORD'
/** Set by `npm run clients`, for those that take long to fetch. */
export const clientsVariable = 'TEST_CLIENTS'

export const isFastLane = process.env[laneVariable] === 'fast'

/** How many of `count` random cases a test runs: a third of them in the fast lane. */
export function samples(count: number): number {
  return isFastLane ? Math.ceil(count / 3) : count
}

let turn = 0
/**
 * The cases of a test that checks the same on many routes. In the fast lane each route gets a quarter of them, the next route
 * another.
 */
export function dealt<T>(cases: readonly T[]): readonly T[] {
  if (!isFastLane) return cases
  turn += 1
  return cases.filter((_, index) => index % 4 === turn % 4)
}

/** The lane, as the last lines of a run name it. */
export function describeLane(): string {
  const lane = process.env[laneVariable]
  return lane === 'fast' || lane === 'full' ? `${lane} lane` : 'these tests'
}
