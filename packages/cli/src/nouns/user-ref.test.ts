import { expect, test } from 'vitest'
import { parseUserRef } from './user-ref.ts'

test.each([
  ['0197C2F0-4c1e-7d3a-9b5e-2f6a8c0d1e3f', { id: '0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f' }],
  ['bob@example.com', { email: 'bob@example.com', pool: undefined }],
  ['bob@example.com@@staff', { email: 'bob@example.com', pool: 'staff' }],
])('%s names a user', (typed, ref) => {
  expect(parseUserRef(typed)).toEqual(ref)
})

test.each(['', 'bob', '@', 'bob@', '@@staff', 'bob@example.com@@', 'bob@@staff', 'a b@example.com', 'a@b@c'])(
  '%s does not name a user',
  (typed) => {
    expect(() => parseUserRef(typed)).toThrow(expect.objectContaining({ exit: 6 }))
  },
)
