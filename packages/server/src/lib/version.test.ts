import { expect, test } from 'vitest'
import { isAtLeast } from './version.ts'

test.each([
  ['0.2.0', '0.2.0', true],
  ['0.10.0', '0.9.3', true],
  ['1.0.0', '0.9.9', true],
  ['0.9.3', '0.10.0', false],
  ['0.2.0', '1.0.0', false],
  ['0.2.0-rc.1', '0.2.0', true],
  ['0.2.1', '0.2.0-rc.1', true],
  ['0.1.0', 'newest', false],
])('%s is at least %s: %s', (version, oldest, is) => {
  expect(isAtLeast(version, oldest)).toBe(is)
})
