import { expect, test } from 'vitest'
import { isFresh, isUnexpired, parseSession, readTokens } from './session.ts'
import { USER } from './test-platform.ts'

const answer = { access_token: 'a', refresh_token: 'r', expires_in: 900, user: USER, organization: null }
const session = readTokens(answer, 1_000_000)!

test('a token is fresh until 30 seconds before its end, by the local clock since it was requested', () => {
  expect(isFresh(session, 1_000_000)).toBe(true)
  expect(isFresh(session, 1_000_000 + 869_999)).toBe(true)
  expect(isFresh(session, 1_000_000 + 870_000)).toBe(false)
  expect(isUnexpired(session, 1_000_000 + 899_999)).toBe(true)
  expect(isUnexpired(session, 1_000_000 + 900_000)).toBe(false)
})

test('a short-lived token is fresh for nine tenths of its life', () => {
  const short = readTokens({ ...answer, expires_in: 10 }, 0)!
  expect(isFresh(short, 8_999)).toBe(true)
  expect(isFresh(short, 9_000)).toBe(false)
})

test('a token is renewed if the clock was set back', () => {
  expect(isFresh(session, 1_000_000 - 30_001)).toBe(false)
  expect(isUnexpired(session, 1_000_000 - 30_001)).toBe(false)
})

test('a tab whose clock is up to 30 seconds behind accepts the token of another tab', () => {
  expect(isFresh(session, 1_000_000 - 30_000)).toBe(true)
  expect(isUnexpired(session, 1_000_000 - 1)).toBe(true)
})

test('a stored session is read as it was written', () => {
  expect(parseSession(JSON.stringify(session))).toEqual(session)
})

test.each([
  ['nothing', null],
  ['no JSON', '{"accessToken":'],
  ['null', 'null'],
  ['a list', '[]'],
  ['no refresh token', JSON.stringify({ ...session, refreshToken: undefined })],
  ['a token that is not text', JSON.stringify({ ...session, accessToken: 7 })],
  ['no user', JSON.stringify({ ...session, user: null })],
  ['an unreadable time', JSON.stringify({ ...session, expiresAt: 'soon' })],
])('a storage that holds %s gives no session', (_, text) => {
  expect(parseSession(text)).toBeUndefined()
})

test.each([undefined, null, 'x', {}, { ...answer, expires_in: undefined }, { ...answer, access_token: '' }])(
  'an answer without tokens gives no session: %j',
  (body) => {
    expect(readTokens(body, 0)).toBeUndefined()
  },
)
