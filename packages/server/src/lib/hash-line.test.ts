import { expect, test } from 'vitest'
import { hashLineOf } from './hash-line.ts'

const from = (ip: string) => ({ caller: undefined, origin: { ip, userAgent: null, requestId: 'a' } })

test('each known device has its own line, and these lines share the turns of their address', () => {
  const [one, two, none] = [
    hashLineOf(from('192.0.2.1'), 'one'),
    hashLineOf(from('192.0.2.1'), 'two'),
    hashLineOf(from('192.0.2.1')),
  ]
  expect(new Set([one.key, two.key, none.key]).size).toBe(3)
  expect([one.source, two.source]).toEqual([none.source, none.source])
  expect(hashLineOf(from('192.0.2.2'), 'one').source).not.toBe(one.source)
})
