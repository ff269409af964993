import { expect, test } from 'vitest'
import { changedMembers, partSentBack } from './sent-back.ts'

const parts = { members: ['id', 'name', 'updated_at'], settable: ['name'] }

test('a body is divided into members that it sets, that it sends back, and that have no effect', () => {
  const sent = { id: 1, name: 'n', updated_at: 'then', unknown: true }
  expect(partSentBack(sent, parts)).toEqual({ given: { name: 'n', unknown: true }, sentBack: { id: 1 } })
})

test('__proto__ is a name like any other', () => {
  const { given } = partSentBack(JSON.parse('{"__proto__":{"id":1},"id":2}'), parts)
  expect(Object.keys(given)).toEqual(['__proto__'])
})

test('members are compared by their values at any depth', () => {
  const record = { id: 1, apps: [{ code: 'a', until: null }] }
  expect(changedMembers({ id: 1, apps: [{ until: null, code: 'a' }] }, record)).toEqual([])
  expect(changedMembers({ id: '1', apps: [], constructor: 1 }, record)).toEqual(['id', 'apps', 'constructor'])
})
