import { expect, test } from 'vitest'
import { findTotpStep, newTotpSecret, totpCodeIn, totpUrl } from './totp.ts'

/** The seed of RFC 6238, appendix B: the ASCII text 12345678901234567890. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'

test.each([
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
])('at %i s the code is %s, as in RFC 6238', (seconds, code) => {
  expect(findTotpStep(secret, code, seconds * 1000)).toBe(Math.floor(seconds / 30))
})

test('a code is accepted one step early or late, and identifies its own step', () => {
  const at = (step: number) => (1_111_111_109 + step * 30) * 1000
  const own = Math.floor(1_111_111_109 / 30)
  expect([-2, -1, 0, 1, 2].map((step) => findTotpStep(secret, '081804', at(step)))).toEqual([undefined, own, own, own, undefined])
})

test.each(['081804', ' 081804\n', '081 804', '0 8 1 8 0 4'])('%j is accepted for 081804', (typed) => {
  expect(totpCodeIn(typed)).toBe('081804')
})

test.each(['', '81804', '0081804', '08180a', '०८१८०४', '０８１８０４', '-81804', '081-804', '8.1804'])(
  '%j is not accepted as a code',
  (typed) => {
    expect(totpCodeIn(typed)).toBeUndefined()
  },
)

test('a TOTP secret has 160 bits, and its URL has all that an authenticator needs', () => {
  const seed = newTotpSecret()
  expect(seed).toMatch(/^[A-Z2-7]{32}$/)
  expect(newTotpSecret()).not.toBe(seed)
  const url = new URL(totpUrl({ secret: seed, issuer: 'https://id.example.com', account: 'a+b:c@example.com' }))
  expect(url.protocol + url.host).toBe('otpauth:totp')
  expect(decodeURIComponent(url.pathname)).toBe('/https://id.example.com:a+b:c@example.com')
  expect(Object.fromEntries(url.searchParams)).toEqual({
    issuer: 'https://id.example.com',
    secret: seed,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
