import { createHmac, hash } from 'node:crypto'
import { keyIdOf } from '@gatehouse/sdk/protocol'
import jwt from 'jsonwebtoken'
import { describe, expect, test } from 'vitest'
import { type AccessTokenClaims, AccessTokens } from './access-token.ts'
import { Keyrings, sharedKeyring } from './keyrings.ts'

const secret = 'the secret that signs, of more than 32 characters'
const previousSecret = 'the secret before it, of more than 32 characters'
const [keyId, previousKeyId] = [keyIdOf(secret, hash), keyIdOf(previousSecret, hash)]
const keyring = sharedKeyring(secret, previousSecret)
const keyrings = new Keyrings(keyring)
const tokens = new AccessTokens('gatehouse')
const now = 1_800_000_000
const claims: AccessTokenClaims = {
  app_id: '01900000-0000-7000-8000-000000000001',
  app_code: 'shop',
  uid: '01900000-0000-7000-8000-000000000002',
  email: 'zoë@example.com',
  email_verified: true,
  first_name: 'Zoë',
  last_name: null,
  tv: 3,
  sid: '01900000-0000-7000-8000-000000000003',
  iss: 'gatehouse',
  aud: 'shop',
  exp: now + 900,
  nbf: now,
  iat: now,
  jti: '01900000-0000-7000-8000-000000000004',
  roles: ['clerk'],
  permissions: ['orders:read'],
}

const sign = (said: AccessTokenClaims) => tokens.sign(said, keyring)
const verify = (token: string, at = now) => tokens.verify(token, at * 1_000, keyrings)
const signed = (header: object, payload: unknown, key = secret) => {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part(header)}.${part(payload)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}

describe('a token signed here', () => {
  const token = sign(claims)

  test('jsonwebtoken accepts the token, and its claims are unchanged with the lists last', () => {
    expect(jwt.verify(token, secret, { algorithms: ['HS256'], clockTimestamp: now, issuer: 'gatehouse' })).toEqual(claims)
    expect(jwt.decode(token, { complete: true })!.header).toEqual({ alg: 'HS256', typ: 'JWT', kid: keyId })
    expect(Object.keys(jwt.decode(token) as object).slice(-2)).toEqual(['roles', 'permissions'])
  })

  test('the token is verified until it expires', () => {
    expect(verify(token)).toEqual({ claims })
    expect(verify(token, claims.exp - 1)).toEqual({ claims })
    expect(verify(token, claims.exp)).toEqual({ fault: 'expired' })
  })

  test('the token is refused after a change of any one character', () => {
    for (let at = 0; at < token.length; at += 1) {
      const other = token[at] === 'A' ? 'B' : 'A'
      expect(verify(token.slice(0, at) + other + token.slice(at + 1)), `character ${at}`).toEqual({ fault: 'invalid' })
    }
  })

  test('the token is refused under another secret', () => {
    expect(tokens.verify(token, now * 1_000, new Keyrings(sharedKeyring(`${secret}!`, undefined)))).toEqual({
      fault: 'invalid',
    })
  })
})

test.each([
  ['jsonwebtoken, without a kid', jwt.sign(claims, secret)],
  ['jsonwebtoken, with the kid of the previous secret', jwt.sign(claims, previousSecret, { keyid: previousKeyId })],
  ['jsonwebtoken, with an unknown kid', jwt.sign(claims, secret, { keyid: 'x' })],
  ['a header without a type', signed({ alg: 'HS256' }, claims)],
  ['a header in another order', signed({ kid: keyId, typ: 'JWT', alg: 'HS256' }, claims)],
])('a genuine token is verified: %s', (_, token) => {
  expect(verify(token)).toEqual({ claims })
})

test.each<[string, string]>([
  ['nothing', ''],
  ['only dots', '..'],
  ['no signature', sign(claims).replace(/[^.]*$/, '')],
  ['no third part', sign(claims).replace(/\.[^.]*$/, '')],
  ['a fourth part', `${sign(claims)}.x`],
  ['no algorithm', `${Buffer.from('{"alg":"none"}').toString('base64url')}.${sign(claims).split('.')[1]}.`],
  ['another algorithm', jwt.sign(claims, secret, { algorithm: 'HS512' })],
  ['the name of an algorithm in other letters', signed({ alg: 'hs256' }, claims)],
  ['another type', signed({ alg: 'HS256', typ: 'consumer+jwt' }, claims)],
  ['a critical extension', signed({ alg: 'HS256', crit: ['b64'] }, claims)],
  ['an unencoded payload announced', signed({ alg: 'HS256', b64: false }, claims)],
  ['a header that is a list', signed(['HS256'], claims)],
  ['a payload that is a list', signed({ alg: 'HS256' }, [claims])],
  ['a payload that is null', signed({ alg: 'HS256' }, null)],
  ['the kid of the other secret', signed({ alg: 'HS256', kid: previousKeyId }, claims)],
  ['the previous secret, without a kid', jwt.sign(claims, previousSecret)],
  ['another issuer', sign({ ...claims, iss: 'somebody' })],
  ['no user', signed({ alg: 'HS256' }, { ...claims, uid: undefined })],
  ['a text as expiry', signed({ alg: 'HS256' }, { ...claims, exp: '1900000000' })],
  ['a version that is not a whole number', signed({ alg: 'HS256' }, { ...claims, tv: 0.5 })],
  ['begun in the future', sign({ ...claims, nbf: now + 6 })],
  ['issued in the future', sign({ ...claims, iat: now + 6 })],
])('a token is refused: %s', (_, token) => {
  expect(verify(token)).toEqual({ fault: 'invalid' })
})
