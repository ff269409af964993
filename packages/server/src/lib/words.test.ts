import { expect, test } from 'vitest'
import { wordsIn } from './words.ts'

test('the words of an aggregate are sorted, whatever the order of the rows', () => {
  expect(wordsIn('org_member base_user org_admin')).toEqual(['base_user', 'org_admin', 'org_member'])
  expect(wordsIn('base_user')).toEqual(['base_user'])
  expect(wordsIn(null)).toEqual([])
})
