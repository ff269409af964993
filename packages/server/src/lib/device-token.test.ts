import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type DeviceOwner, deviceOf, newDeviceToken } from './device-token.ts'

const [key, other] = [randomBytes(32), randomBytes(32)]
const now = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000
const owner: DeviceOwner = { id: 'u-1', email: 'ada@example.com', min_token_version: 3, factor_activated_at: null }
const at = (now: number) => ({ now, minIat: 0 })
const token = newDeviceToken([key], owner, { now, minIat: 0 })

test('a device token identifies one device of its owner for 180 days', () => {
  const device = deviceOf([key], token, owner, at(now))
  expect(device).toMatch(/^[\w-]{22}$/)
  expect(deviceOf([key], token, owner, at(now + 180 * dayMs - 1))).toBe(device)
  expect(deviceOf([key], token, owner, at(now + 180 * dayMs))).toBeUndefined()
  expect(deviceOf([key], newDeviceToken([key], owner, { now, minIat: 0 }), owner, at(now))).not.toBe(device)
})

test('a device token reveals nothing about its owner', () => {
  expect(token).toMatch(/^gdt_[0-9a-z]+\.[\w-]{22}\.[\w-]{43}$/)
})

test.each<[string, Partial<DeviceOwner>]>([
  ['another user', { id: 'u-2' }],
  ['another address', { email: 'bob@example.com' }],
  ['another minimum token version', { min_token_version: 4 }],
  ['another second factor', { factor_activated_at: now }],
])('a device token is worthless with %s', (_, changed) => {
  expect(deviceOf([key], token, { ...owner, ...changed }, at(now))).toBeUndefined()
})

test('a device token is worthless without an owner, after any change, or under another key', () => {
  expect(deviceOf([key], token, undefined, at(now))).toBeUndefined()
  expect(deviceOf([other], token, owner, at(now))).toBeUndefined()
  for (const [index, letter] of [...token].entries()) {
    const changed = token.slice(0, index) + (letter === 'a' ? 'b' : 'a') + token.slice(index + 1)
    expect([index, deviceOf([key], changed, owner, at(now))]).toEqual([index, undefined])
  }
  for (const text of ['', 'gdt_', `${token}a`, ` ${token}`, token.toUpperCase()])
    expect(deviceOf([key], text, owner, at(now))).toBeUndefined()
})

test('a device token is worthless if issued before the earliest allowed time', () => {
  const minIat = now / 1_000 + 3
  expect(deviceOf([key], token, owner, { now, minIat: now / 1_000 })).toMatch(/^[\w-]{22}$/)
  expect(deviceOf([key], token, owner, { now: now + 10_000, minIat })).toBeUndefined()
  expect(deviceOf([key], newDeviceToken([key], owner, { now, minIat }), owner, { now, minIat })).toMatch(/^[\w-]{22}$/)
})

test('tokens of both keys count while the key is being replaced', () => {
  expect(deviceOf([other, key], token, owner, at(now))).toBe(deviceOf([key], token, owner, at(now)))
})
