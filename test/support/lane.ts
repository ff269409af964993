/** `fast`, `full` or `chosen`, as `scripts/test.ts` was asked for; vitest on its own runs everything. */
export const laneVariable = 'TEST_LANE'
/** Set where the run keeps what each file took. */
export const weighVariable = 'TEST_WEIGH'

export const isFastLane = process.env[laneVariable] === 'fast'

/** For the last lines of a run. */
export function describeLane(): string {
  const lane = process.env[laneVariable]
  return lane === 'fast' || lane === 'full' ? `${lane} lane` : 'these tests'
}
