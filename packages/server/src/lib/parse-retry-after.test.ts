import { expect, test } from 'vitest'
import { parseRetryAfter } from './parse-retry-after.ts'

const now = Date.parse('2026-01-31T12:00:00Z')

test.each<[string | undefined, number | undefined]>([
  ['0', 0],
  ['30', 30_000],
  [' 30 ', 30_000],
  ['86400', 86_400_000],
  ['Sat, 31 Jan 2026 12:00:20 GMT', 20_000],
  ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
  [undefined, undefined],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['99999999999', undefined],
  ['2026-01-31T12:00:20Z', undefined],
  ['Sat, 99 Jan 2026 12:00:20 GMT', undefined],
])('Retry-After: %s is %s ms', (header, ms) => {
  expect(parseRetryAfter(header, now)).toBe(ms)
})
