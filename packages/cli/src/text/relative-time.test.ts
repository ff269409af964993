import { expect, test } from 'vitest'
import { isMoment, relativeTime } from './relative-time.ts'

const now = Date.parse('2026-11-20T12:00:00.000Z')

test.each([
  ['2026-11-20T12:00:00.000Z', 'now'],
  ['2026-11-20T11:59:30.000Z', '30s ago'],
  ['2026-11-20T12:00:05.000Z', 'now'],
  ['2026-11-20T12:00:20.000Z', 'in 20s'],
  ['2026-11-20T11:00:01.000Z', '59m ago'],
  ['2026-11-20T09:00:00.000Z', '3h ago'],
  ['2026-11-23T12:00:00.000Z', 'in 3d'],
  ['2026-09-01T12:00:00.000Z', '2mo ago'],
  ['2020-11-20T12:00:00.000Z', '6y ago'],
])('%s is shown as %s', (moment, told) => {
  expect(relativeTime(moment, now)).toBe(told)
})

test('only a time as the service writes it counts as a moment', () => {
  expect(['2026-11-20T12:00:00.000Z', '2026-11-20', 'soon', 3, null].map(isMoment)).toEqual([true, false, false, false, false])
})
