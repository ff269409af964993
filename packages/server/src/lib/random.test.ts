import { expect, test } from 'vitest'
import { fillRandom, randomText } from './random.ts'

test('no random bytes repeat, across many draws and sizes', () => {
  const given = Buffer.concat(
    Array.from({ length: 2_000 }, (_, index) => fillRandom(Buffer.alloc([8, 16, 24, 32, 48][index % 5]!))),
  )
  const words = new Set(Array.from({ length: given.length / 8 }, (_, index) => given.readBigUInt64LE(index * 8)))
  expect(words.size).toBe(given.length / 8)
  // Bytes that were left zero would repeat too, and a constant bit would not.
  const everSet = given.reduce((bits, byte) => bits | byte, 0)
  expect(everSet).toBe(255)
})

test('a random text holds as many bytes as were asked for', () => {
  expect(Buffer.from(randomText(32), 'base64url')).toHaveLength(32)
  expect(randomText(16)).toMatch(/^[\w-]{22}$/)
})
