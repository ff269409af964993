import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { SecretBox } from './secrets.ts'

const key = randomBytes(32)
const box = new SecretBox([key])

describe('a sealed secret', () => {
  test.each(['', 'a', 'ü💡\u0000', 'x'.repeat(100_000)])('a sealed secret opens to the original text', (plain) => {
    expect(box.open(box.seal(plain, 'here'), 'here')).toBe(plain)
  })

  test('a sealed secret shows nothing of the text, and differs at each sealing', () => {
    const sealed = [box.seal('a known text', 'here'), box.seal('a known text', 'here')]
    expect(sealed[0]).not.toBe(sealed[1])
    for (const text of sealed) expect(Buffer.from(text.split('.')[1]!, 'base64url').toString('latin1')).not.toContain('known')
  })

  test('a sealed secret does not open at another place', () => {
    expect(() => box.open(box.seal('x', 'apps/1'), 'apps/2')).toThrow()
    expect(() => box.open(box.seal('x', ''), ' ')).toThrow()
  })

  test('a sealed secret does not open under another key', () => {
    expect(() => new SecretBox([randomBytes(32)]).open(box.seal('x', 'here'), 'here')).toThrow(/not configured/)
  })

  test('a secret sealed under the previous key opens while both are configured, and the first key seals', () => {
    const next = randomBytes(32)
    const rotating = new SecretBox([next, key])
    expect(rotating.open(box.seal('x', 'here'), 'here')).toBe('x')
    expect(new SecretBox([next]).open(rotating.seal('y', 'here'), 'here')).toBe('y')
    expect(() => box.open(rotating.seal('y', 'here'), 'here')).toThrow()
  })

  test('a sealed secret does not open after a change of any byte or a cut', () => {
    const sealed = box.seal('a secret', 'here')
    const [id, body] = sealed.split('.') as [string, string]
    const bytes = Buffer.from(body, 'base64url')
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes)
      changed[index]! ^= 1
      expect(() => box.open(`${id}.${changed.toString('base64url')}`, 'here')).toThrow()
    }
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => box.open(`${id}.${bytes.subarray(0, length).toString('base64url')}`, 'here')).toThrow()
    }
  })

  test.each(['', '.', 'x', `${'0'.repeat(8)}.AAAA`, 'plain text'])('%j does not open', (text) => {
    expect(() => box.open(text, 'here')).toThrow()
  })
})
