/** `fast`, `full` or `chosen`, as `scripts/test.ts` was asked for; vitest on its own runs everything. */
export const laneVariable = 'TEST_LANE'
/** Set where the run keeps what each file took. */
export const weighVariable = 'TEST_WEIGH'

export const isFastLane = process.env[laneVariable] === 'fast'

/** How many of so many random cases a test takes. */
export function samples(count: number): number {
  return isFastLane ? Math.ceil(count / 3) : count
}

let turn = 0
/** The cases of a test that asks the same of many routes. The fast lane deals them out: each route gets a quarter, the next route another one. */
export function dealt<T>(cases: readonly T[]): readonly T[] {
  if (!isFastLane) return cases
  turn += 1
  return cases.filter((_, index) => index % 4 === turn % 4)
}

/** For the last lines of a run. */
export function describeLane(): string {
  const lane = process.env[laneVariable]
  return lane === 'fast' || lane === 'full' ? `${lane} lane` : 'these tests'
}
