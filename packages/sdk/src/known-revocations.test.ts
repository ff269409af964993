import { expect, test } from 'vitest'
import type { Claims } from './claims.ts'
import { KnownRevocations } from './known-revocations.ts'
import { CLAIMS, NOW } from './test-tokens.ts'

const event = (seconds: number, members: object = {}) => {
  const at = new Date((NOW + seconds) * 1000).toISOString()
  return { cursor: 1, user_id: CLAIMS.uid, app_id: null, session_id: null, min_tv: 9, at, ...members }
}
const claims: Claims = CLAIMS

test('a revocation is known until every token that it concerns has expired, and no longer', () => {
  const known = new KnownRevocations()
  known.add(event(0), NOW * 1000)
  known.add(event(3_660, { user_id: 'another' }), (NOW + 3_659) * 1000)
  expect(known.include(claims)).toBe(true)
  known.add(event(3_661, { user_id: 'a third' }), (NOW + 3_661) * 1000)
  expect(known.include({ ...claims, iat: NOW + 1 })).toBe(false)
})

test('a token issued before a forgotten event stays invalid, however far the clock is set back', () => {
  const known = new KnownRevocations()
  known.add(event(0), 0)
  known.add(event(3_661, { user_id: 'another' }), 3_661_000)
  expect(known.include(claims)).toBe(true)
  const next = new KnownRevocations(known)
  expect(next.include(claims)).toBe(true)
  expect(next.include({ ...claims, uid: 'nobody', iat: NOW + 1 })).toBe(false)
  expect(next.include({ ...claims, uid: 'another', iat: NOW + 1 })).toBe(false)
})

test('a forgotten event from a clock far ahead refuses no current token', () => {
  const known = new KnownRevocations()
  known.add(event(86_400 * 365), performance.now() - 3_700_000)
  known.add(event(0, { user_id: 'another' }))
  expect(known.include({ ...claims, iat: Math.floor(Date.now() / 1000) })).toBe(false)
})

test('a minimum token version that was raised again is remembered from then on', () => {
  const known = new KnownRevocations()
  known.add(event(0), NOW * 1000)
  known.add(event(3_000, { min_tv: 10 }), (NOW + 3_000) * 1000)
  known.add(event(4_000, { user_id: 'another' }), (NOW + 4_000) * 1000)
  expect(known.include(claims)).toBe(true)
})

test('an event without a readable time counts from its arrival', () => {
  const known = new KnownRevocations()
  known.add(event(0, { at: 'yesterday' }), NOW * 1000)
  expect(known.include(claims)).toBe(true)
})

test('names of the prototype are ordinary user and app ids', () => {
  const known = new KnownRevocations()
  known.add(event(0, { user_id: '__proto__', app_id: 'constructor' }), NOW * 1000)
  expect(known.include(claims)).toBe(false)
  expect(known.include({ ...claims, uid: 'constructor', app_id: 'toString' })).toBe(false)
  expect(known.include({ ...claims, uid: '__proto__', app_id: 'constructor' })).toBe(true)
})

test.each([
  ['all apps', null],
  ['the app of the token', claims.app_id],
])('a minimum token version for %s ends the token versions below it, and not its own', (_, app_id) => {
  const known = new KnownRevocations()
  known.add(event(0, { app_id, min_tv: claims.tv + 1 }), NOW * 1000)
  expect(known.include(claims)).toBe(true)
  expect(known.include({ ...claims, tv: claims.tv + 1 })).toBe(false)
  expect(known.include({ ...claims, app_id: 'another app' })).toBe(app_id === null)
})
