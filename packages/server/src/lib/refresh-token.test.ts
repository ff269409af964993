import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { newRefreshToken, sessionOfRefreshToken } from './refresh-token.ts'
import { newId } from './uuid.ts'

const [key, other] = [randomBytes(32), randomBytes(32)]

test('a refresh token names the session that it was made for, under either key', () => {
  const id = newId()
  const token = newRefreshToken([key], id)
  expect(token).toMatch(/^grt_[\w-]{97}$/)
  expect(newRefreshToken([key], id)).not.toBe(token)
  expect(sessionOfRefreshToken([key], token)).toBe(id)
  expect(sessionOfRefreshToken([other, key], token)).toBe(id)
  expect(sessionOfRefreshToken([other], token)).toBeUndefined()
})

test('a refresh token names no session after a change of any one character', () => {
  const token = newRefreshToken([key], newId())
  for (let at = 0; at < token.length; at += 1) {
    const changed = token[at] === 'a' ? 'b' : 'a'
    expect(sessionOfRefreshToken([key], token.slice(0, at) + changed + token.slice(at + 1)), `character ${at}`).toBeUndefined()
  }
  for (const text of ['', 'grt_', token.slice(0, -1), `${token}a`, `grt_${randomBytes(32).toString('base64url')}`])
    expect(sessionOfRefreshToken([key], text)).toBeUndefined()
})
