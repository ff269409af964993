import { expect, test } from 'vitest'
import { duration, progressBar } from './progress-bar.ts'

test('a bar shows share, rate and time left, or only lines and rate if the end is unknown', () => {
  expect(progressBar({ lines: 0, share: 0, elapsedMs: 0 })).toBe('[------------------------]   0 %  0 lines, 0/s')
  expect(progressBar({ lines: 20_000, share: 0.25, elapsedMs: 5_000 })).toBe(
    '[######------------------]  25 %  20,000 lines, 4,000/s, 15 s left',
  )
  expect(progressBar({ lines: 1, share: 1, elapsedMs: 500 })).toBe('[########################] 100 %  1 line, 2/s, 0 s left')
  expect(progressBar({ lines: 1_234, share: undefined, elapsedMs: 1_000 })).toBe('1,234 lines, 1,234/s')
})

test('a duration has at most two units', () => {
  expect([0, 59, 60, 75, 3_599, 3_600, 90_061].map(duration)).toEqual([
    '0 s',
    '59 s',
    '1 min 0 s',
    '1 min 15 s',
    '59 min 59 s',
    '1 h 0 min',
    '25 h 1 min',
  ])
})
