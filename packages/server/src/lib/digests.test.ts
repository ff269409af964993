import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { HmacSha256 } from './digests.ts'

test.each([0, 1, 32, 63, 64])('HmacSha256 computes the same as createHmac, with a key of %i bytes', (bytes) => {
  const key = randomBytes(bytes)
  const hmac = new HmacSha256(key)
  const texts = [
    '',
    'x',
    'é\u{1f512}'.repeat(50),
    'half \ud83d',
    'a'.repeat(55),
    'a'.repeat(56),
    'a'.repeat(64),
    'b'.repeat(100_000),
    'x',
  ]
  for (const text of texts) expect(hmac.of(text)).toBe(createHmac('sha256', key).update(text).digest('base64url'))
})

test('HmacSha256 refuses a key longer than one block', () => {
  expect(() => new HmacSha256(randomBytes(65))).toThrow('too long')
})
