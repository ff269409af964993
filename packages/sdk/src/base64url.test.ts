import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nodeTextReader, type TextReader, webTextReader } from './base64url.ts'
import { nodeBuiltins } from './node-builtins.ts'

const readers = [nodeTextReader(nodeBuiltins()!, 8192), webTextReader]

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
