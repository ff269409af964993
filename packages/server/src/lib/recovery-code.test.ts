import { expect, test } from 'vitest'
import { newRecoveryCodes, recoveryCodeDigest } from './recovery-code.ts'

const key = Buffer.alloc(32, 1)

test('ten recovery codes all differ and use no characters that are easily confused', () => {
  const codes = newRecoveryCodes()
  expect(new Set(codes).size).toBe(10)
  for (const code of codes) expect(code).toMatch(/^[0-9abcdefghjkmnpqrstvwxyz]{5}-[0-9abcdefghjkmnpqrstvwxyz]{5}$/)
})

test('a recovery code matches in any case, without its hyphen, and with letters it is misread as', () => {
  const digest = recoveryCodeDigest(key, 'u', 'a0b1c-d2e3f')
  expect(digest).toMatch(/^[A-Za-z0-9_-]{43}$/)
  for (const typed of ['A0B1C-D2E3F', 'a0b1cd2e3f', ' a0b1c - d2e3f ', 'AOBIC-D2E3F', 'aoblcd2e3f']) {
    expect(recoveryCodeDigest(key, 'u', typed), typed).toBe(digest)
  }
  expect(recoveryCodeDigest(key, 'v', 'a0b1c-d2e3f')).not.toBe(digest)
  expect(recoveryCodeDigest(Buffer.alloc(32, 2), 'u', 'a0b1c-d2e3f')).not.toBe(digest)
})

test.each(['', '123456', 'a0b1c-d2e3', 'a0b1c-d2e3ff', 'a0b1c-d2e3u', 'a0b1c-d2e3é', 'a0b1c_d2e3f'])(
  '%j is not accepted as a recovery code',
  (typed) => {
    expect(recoveryCodeDigest(key, 'u', typed)).toBeUndefined()
  },
)
