import { describe, expect, test } from 'vitest'
import { parseDuration, parseMoment } from './duration.ts'

const now = Date.parse('2026-11-20T12:00:00Z')

describe('the notation of a moment', () => {
  test.each([
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
    ['2027-01-31T18:00Z', '2027-01-31T18:00:00.000Z'],
    ['2027-01-31T18:00:00+02:00', '2027-01-31T16:00:00.000Z'],
    ['30d', '2026-12-20T12:00:00.000Z'],
    ['90m', '2026-11-20T13:30:00.000Z'],
  ])('%s is read as %s', (typed, moment) => {
    expect(parseMoment(typed, now)).toBe(moment)
  })

  test.each(['', 'never', 'tomorrow', '30', '-1d', '2027-13-01', '2027-01-31T18:00', '31.01.2027', '999999999w'])(
    '%s is not accepted as a moment',
    (typed) => {
      expect(parseMoment(typed, now)).toBe(undefined)
    },
  )
})

test('a duration without a unit is not accepted', () => {
  expect([parseDuration('500ms'), parseDuration('1.5h'), parseDuration('2w'), parseDuration('5')]).toEqual([
    500,
    5_400_000,
    1_209_600_000,
    undefined,
  ])
})
