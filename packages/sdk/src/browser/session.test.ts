import { expect, test } from 'vitest'
import { isFresh, isUnexpired, parseSession, readTokens } from './session.ts'
import { USER } from './test-platform.ts'

const answer = { access_token: 'a', refresh_token: 'r', expires_in: 900, user: USER, organization: null }
const session = readTokens(answer, 1_000_000)!

test('a token is fresh until 30 seconds before its end, counted on the own clock from the moment it was asked for', () => {
  expect(isFresh(session, 1_000_000)).toBe(true)
  expect(isFresh(session, 1_000_000 + 869_999)).toBe(true)
  expect(isFresh(session, 1_000_000 + 870_000)).toBe(false)
  expect(isUnexpired(session, 1_000_000 + 899_999)).toBe(true)
  expect(isUnexpired(session, 1_000_000 + 900_000)).toBe(false)
})

test('of a short life the margin is a tenth', () => {
  const short = readTokens({ ...answer, expires_in: 10 }, 0)!
  expect(isFresh(short, 8_999)).toBe(true)
  expect(isFresh(short, 9_000)).toBe(false)
})

test('a clock that was set back says nothing: the token is renewed', () => {
  expect(isFresh(session, 1_000_000 - 30_001)).toBe(false)
  expect(isUnexpired(session, 1_000_000 - 30_001)).toBe(false)
})

test('a tab whose clock is behind by less than the margin takes the token of another', () => {
  expect(isFresh(session, 1_000_000 - 30_000)).toBe(true)
  expect(isUnexpired(session, 1_000_000 - 1)).toBe(true)
})

test('what was stored is read as it was written', () => {
  expect(parseSession(JSON.stringify(session))).toEqual(session)
})

test.each([
  ['nothing', null],
  ['no JSON', '{"accessToken":'],
  ['null', 'null'],
  ['a list', '[]'],
  ['no refresh token', JSON.stringify({ ...session, refreshToken: undefined })],
  ['a token that is no text', JSON.stringify({ ...session, accessToken: 7 })],
  ['no user', JSON.stringify({ ...session, user: null })],
  ['a time that is none', JSON.stringify({ ...session, expiresAt: 'soon' })],
])('%s in the storage is no session', (_, text) => {
  expect(parseSession(text)).toBeUndefined()
})

test.each([undefined, null, 'x', {}, { ...answer, expires_in: undefined }, { ...answer, access_token: '' }])(
  'an answer without tokens opens no session: %j',
  (body) => {
    expect(readTokens(body, 0)).toBeUndefined()
  },
)
