import { expect, test } from 'vitest'
import { parseUserRef } from './user-ref.ts'

test.for([
  ['01997C2F-0000-7000-8000-000000000000', { id: '01997c2f-0000-7000-8000-000000000000' }],
  ['Bob@Example.com', { email: 'bob@example.com', pool: undefined }],
  ['bob@example.com@@staff', { email: 'bob@example.com', pool: 'staff' }],
  ['bob@example.com@@', undefined],
  ['@@staff', undefined],
  ['bob', undefined],
  ['', undefined],
] as const)('%s names %j', ([typed, ref]) => {
  expect(parseUserRef(typed)).toEqual(ref)
})
