import { expect, test } from 'vitest'
import { parseUserLines } from './for-users.ts'

test('each line names a user except blank lines and comments, and an address may hold a #', () => {
  const text = '\uFEFF# staff\r\nbob@example.com@@staff # since May\r\n\r\n  a#b@example.com  \n#end'
  expect(parseUserLines(text)).toEqual([
    { line: 2, ref: 'bob@example.com@@staff' },
    { line: 4, ref: 'a#b@example.com' },
  ])
  expect(parseUserLines('')).toEqual([])
})
