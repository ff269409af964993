import { createHmac, hkdfSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openNodeKeys } from './node-platform.ts'
import type { TextReader } from './platform.ts'
import { createKid, encode, PREVIOUS_SECRET, SECRET } from './test-tokens.ts'
import { openWebKeys } from './web-platform.ts'

const open = async (...secrets: string[]) => {
  const given = { secrets, maxTokenBytes: 8192 }
  return [openNodeKeys(given)!, await openWebKeys(given)]
}
const readers = (await open()).map(({ readText }) => readText)

function attempt(reader: TextReader, encoded: string): string | undefined {
  try {
    return reader(encoded)
  } catch {
    return undefined
  }
}

test('both readers decode what was encoded', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const encoded = Buffer.from(text).toString('base64url')
      expect(readers.map((reader) => reader(encoded))).toEqual([text, text])
    }),
  )
})

test('both readers accept exactly the canonical spelling of valid UTF-8', () => {
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

test('both platforms give a secret the same key id and signature as Node', async () => {
  const claims = { sub: 'ünd ä bit 😀' }
  for (const secret of [SECRET, PREVIOUS_SECRET, 's'.repeat(65)]) {
    const key = Buffer.from(hkdfSync('sha256', secret, '', 'gatehouse-consumer', 32))
    const kid = createKid(secret)
    const signed = `${encode({ alg: 'HS256', typ: 'consumer+jwt', kid })}.${encode(claims)}`
    const expected = [kid, `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`]
    for (const { keys } of await open(secret)) expect([keys[0]!.kid, await keys[0]!.signAsConsumer(claims)]).toEqual(expected)
  }
})
