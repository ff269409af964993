import { describe, expect, test } from 'vitest'
import type { CheckedPayload } from './claims.ts'
import { AuthError } from './errors.ts'
import { SeenTokens } from './seen-tokens.ts'
import { buildAuth, CLAIMS, encode, NOW, SECRET, signToken } from './test-tokens.ts'

const codeOf = (run: () => unknown) => {
  try {
    run()
    return 'ok'
  } catch (error) {
    if (!AuthError.is(error)) throw error
    return error.code
  }
}

describe('a token that was seen before', () => {
  const build = () => {
    const clock = { seconds: NOW }
    const auth = buildAuth({ cacheTokens: 10, now: () => clock.seconds * 1000 })
    return { clock, auth, codeOf: (token: string) => codeOf(() => auth.verifySync(token)) }
  }

  test('a remembered token is refused after it has expired, and before it is valid', () => {
    const { clock, codeOf } = build()
    const token = signToken()
    expect(codeOf(token)).toBe('ok')
    clock.seconds = CLAIMS.exp + 5
    expect(codeOf(token)).toBe('TOKEN_EXPIRED')
    clock.seconds = CLAIMS.nbf - 6
    expect(codeOf(token)).toBe('TOKEN_NOT_YET_VALID')
    clock.seconds = NOW
    expect(codeOf(token)).toBe('ok')
  })

  test('a remembered token is checked again by a custom revocation', async () => {
    let isCurrent = true
    const auth = buildAuth({ cacheTokens: 10, revocation: { mode: 'custom', isCurrent: () => isCurrent } })
    const token = signToken()
    expect((await auth.safeVerify(token)).ok).toBe(true)
    isCurrent = false
    expect(await auth.safeVerify(token)).toMatchObject({ error: { code: 'TOKEN_REVOKED' } })
  })

  test('a remembered token does not vouch for another token with the same signature', () => {
    const { codeOf } = build()
    const token = signToken()
    expect(codeOf(token)).toBe('ok')
    const [header, , signature] = token.split('.')
    const forged = `${header}.${encode({ ...CLAIMS, uid: 'somebody else' })}.${signature}`
    expect([codeOf(forged), codeOf(`x${token}`), codeOf(token)]).toEqual(['TOKEN_SIGNATURE', 'TOKEN_MALFORMED', 'ok'])
  })

  test('a refused token is not remembered', () => {
    const { clock, codeOf } = build()
    const token = signToken({ nbf: NOW + 60, iat: NOW + 60 })
    expect(codeOf(token)).toBe('TOKEN_NOT_YET_VALID')
    clock.seconds = NOW + 60
    expect(codeOf(token)).toBe('ok')
    const other = signToken({}, {}, `${SECRET}, another`)
    expect([codeOf(other), codeOf(other)]).toEqual(['TOKEN_SIGNATURE', 'TOKEN_SIGNATURE'])
  })

  test('each request gets its own principal, and claims that nobody can change', () => {
    const { auth } = build()
    const token = signToken()
    const [first, second] = [auth.verifySync(token), auth.verifySync(token)]
    expect(first).not.toBe(second)
    expect(second.claims).toEqual(CLAIMS)
    expect(Object.isFrozen(first.claims)).toBe(true)
    expect(second.has('invoices:read')).toBe(true)
  })
})

test('no token is remembered by default', () => {
  let parsed = 0
  const { parse } = JSON
  const auth = buildAuth()
  const token = signToken()
  JSON.parse = (...args: Parameters<typeof parse>) => {
    parsed += 1
    return parse(...args)
  }
  try {
    auth.verifySync(token)
    auth.verifySync(token)
  } finally {
    JSON.parse = parse
  }
  expect(parsed).toBe(2)
})

describe('the memory of tokens', () => {
  const token = (name: number) => `header.payload${name}.${String(name).padStart(43, 'A')}`
  const payload = { claims: {} } as CheckedPayload

  test.each([2, 3, 10])('the memory holds at most %i tokens', (most) => {
    for (let names = 1; names < 100; names += 1) {
      const seen = new SeenTokens(most)
      const tokens = Array.from({ length: names }, (_, name) => token(name))
      for (const each of tokens) seen.add(each, payload)
      expect(tokens.filter((each) => seen.get(each)).length).toBeLessThanOrEqual(most)
    }
  })

  test('the memory holds one of two tokens whose signatures end alike, and never confuses them', () => {
    const seen = new SeenTokens(10)
    const [first, second] = ['a', 'b'].map((start) => `header.payload.${start.padEnd(43, 'x')}`) as [string, string]
    seen.add(first, payload)
    expect([seen.get(first), seen.get(second)]).toEqual([payload, undefined])
    seen.add(second, payload)
    expect([seen.get(first), seen.get(second)]).toEqual([undefined, payload])
  })

  test('the memory keeps tokens that are used and forgets others', () => {
    const seen = new SeenTokens(10)
    seen.add(token(0), payload)
    seen.add(token(1), payload)
    for (let name = 2; name < 50; name += 1) {
      seen.add(token(name), payload)
      expect(seen.get(token(0))).toBe(payload)
    }
    expect(seen.get(token(1))).toBeUndefined()
  })
})
