// A fault test has two forms: the short one of `npm test`, and the long one of `npm run faults`, which prints what was measured.
import type { TestContext } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** What the test measured, for the table of `npm run faults`. */
    figure?: string
  }
}

export const longFormVariable = 'GATEHOUSE_LONG_FAULTS'

export function sized<T>(short: T, long: T): T {
  return process.env[longFormVariable] === undefined ? short : long
}

/** Records what was measured; a later call replaces the earlier one. */
export function measured({ task }: TestContext, figure: string): void {
  task.meta.figure = figure
}

/** The value that this share of the values lies below: 0.5 is the median, 1 the greatest. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}
