import { expect, test } from 'vitest'
import { isServiceToken, newServiceToken } from './service-token.ts'

test('a service token is gsa_ with 43 characters for 256 bits and 6 of checksum, and all tokens differ', () => {
  const tokens = Array.from({ length: 1_000 }, newServiceToken)
  for (const token of tokens) {
    expect(token).toMatch(/^gsa_[0-9A-Za-z]{49}$/)
    expect(isServiceToken(token)).toBe(true)
  }
  expect(new Set(tokens).size).toBe(1_000)
})

test('the checksum detects any one character that is changed, cut or added', () => {
  const token = newServiceToken()
  for (let at = 0; at < token.length; at += 1) {
    for (const other of ['a', 'B', '7', '_', '-', ' ']) {
      if (token[at] !== other) expect(isServiceToken(token.slice(0, at) + other + token.slice(at + 1))).toBe(false)
    }
    expect(isServiceToken(token.slice(0, at) + token.slice(at + 1))).toBe(false)
  }
  expect(isServiceToken(`${token}0`)).toBe(false)
  expect(isServiceToken(`${token}\n`)).toBe(false)
})

test('the checksum is the CRC-32 of the 43 characters in base62, as other programs compute it', () => {
  expect(isServiceToken(`gsa_${'0'.repeat(43)}${checksum('0'.repeat(43))}`)).toBe(true)
})

/** CRC-32 (IEEE) bit by bit, and base62 with numbers, so that it uses neither zlib nor bigint. */
function checksum(body: string): string {
  let crc = 0xffffffff
  for (const byte of Buffer.from(body)) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  let rest = (crc ^ 0xffffffff) >>> 0
  let text = ''
  for (let place = 0; place < 6; place += 1) {
    text = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}
