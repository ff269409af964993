import { createHmac, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nodePlatform } from './node-platform.ts'
import type { TextReader } from './platform.ts'
import { createKid, PREVIOUS_SECRET, SECRET } from './test-tokens.ts'
import { webPlatform } from './web-platform.ts'

const given = { secrets: [], maxTokenBytes: 8192 }
const readers = [nodePlatform()!.openKeys(given), await webPlatform.openKeys(given)].map(({ readText }) => readText)

function attempt(reader: TextReader, encoded: string): string | undefined {
  try {
    return reader(encoded)
  } catch {
    return undefined
  }
}

test('both readers give back what was encoded', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const encoded = Buffer.from(text).toString('base64url')
      expect(readers.map((reader) => reader(encoded))).toEqual([text, text])
    }),
  )
})

test('both readers take exactly the canonical spelling of valid UTF-8', () => {
  const character = fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') },
    fc.constantFrom(...'+/=. \n\0~'),
  )
  fc.assert(
    fc.property(fc.string({ unit: character, maxLength: 12 }), (encoded) => {
      const bytes = Buffer.from(encoded, 'base64url')
      const canonical = bytes.toString('base64url') === encoded
      const text = bytes.toString('utf8')
      const expected = canonical && Buffer.from(text).equals(bytes) ? text : undefined
      expect(readers.map((reader) => attempt(reader, encoded))).toEqual([expected, expected])
    }),
    { numRuns: 20_000 },
  )
})

test('both platforms name a secret and sign for it as Node alone does', async () => {
  const text = 'header.payload'
  for (const secret of [SECRET, PREVIOUS_SECRET, 's'.repeat(65)]) {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'gatehouse-consumer', 32))
    const expected = [createKid(secret), createHmac('sha256', key).update(text).digest('base64url')]
    for (const { keyId, signAsConsumer } of [nodePlatform()!, webPlatform])
      expect([await keyId(secret), await signAsConsumer(secret, text)]).toEqual(expected)
  }
})

test('both platforms encode text beyond ASCII', () => {
  const text = 'ünd ä bit 😀'
  for (const { encode } of [nodePlatform()!, webPlatform]) expect(Buffer.from(encode(text), 'base64url').toString()).toBe(text)
})
