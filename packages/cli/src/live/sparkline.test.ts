import { expect, test } from 'vitest'
import { sparkline } from './sparkline.ts'

test.each<[values: number[], width: number, drawn: string]>([
  [[0, 1, 4, 8], 10, ' ▁▄█'],
  [[0, 0], 10, '  '],
  [[1, 1, 0, 0, 2, 6], 3, '▂ █'],
  [[1_000_000, 1], 2, '█▁'],
  [[], 5, ''],
])('a sparkline draws %j in %i columns', (values, width, drawn) => {
  expect(sparkline(values, width)).toBe(drawn)
})
