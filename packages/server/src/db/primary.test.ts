import { expect, test } from 'vitest'
import { Primary } from './primary.ts'

const endpoint = { isBehindPooler: false, isStandby: false, isReadOnly: false, engineFault: undefined }

test('a newer timeline or another cluster is a failover, and a history that becomes known later is not', () => {
  const primary = new Primary('postgres://localhost/gatehouse')
  const eraAfter = (lineage: { cluster: string; timeline: number } | undefined) => primary.admit({ ...endpoint, lineage })
  const first = eraAfter(undefined)
  expect(eraAfter({ cluster: 'a', timeline: 1 })).toBe(first)
  expect(eraAfter(undefined)).toBe(first)
  expect(eraAfter({ cluster: 'a', timeline: 2 })).toBe(first + 1)
  expect(eraAfter({ cluster: 'b', timeline: 1 })).toBe(first + 2)
})
