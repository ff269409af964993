import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type InspectOptions, inspectToken } from './inspect.ts'
import { buildAuth, CLAIMS, createKid, NOW, PREVIOUS_SECRET, SECRET, signToken } from './test-tokens.ts'

interface Vectors {
  now: number
  issuer: string
  app_code: string
  app_id: string
  secret: string
  secret_previous: string
  tokens: { name: string; result: string; token: string }[]
}

const page = readFileSync(new URL('../../../docs/guard-a-backend/tokens.md', import.meta.url), 'utf8')
const {
  now,
  issuer,
  app_code: appCode,
  app_id: appId,
  secret,
  secret_previous,
  tokens,
}: Vectors = JSON.parse(/```json\n(.*?)```/s.exec(page)![1]!)
const expected: InspectOptions = { secrets: [secret, secret_previous], issuer, appCode, appId, now: () => now * 1000 }

test.each(tokens)('inspectToken agrees with docs/guard-a-backend/tokens.md: $name, $result', async ({ token, result }) => {
  const { valid, checks } = await inspectToken(token, expected)
  expect({ valid, code: checks.at(-1)!.code ?? 'ok' }).toEqual({ valid: result === 'ok', code: result })
  expect(checks.slice(0, -1).every(({ ok }) => ok)).toBe(true)
})

const good = tokens[0]!.token

test('inspectToken without a secret decodes a token and does not judge it', async () => {
  const options = { ...expected, secrets: [], now: () => 9e15 }
  const { valid, claims, header, checks } = await inspectToken(good, options)
  expect({ valid, checks: checks.map(({ name }) => name) }).toEqual({ valid: null, checks: ['size', 'form', 'payload'] })
  expect({ aud: claims!.aud, alg: header!.alg }).toEqual({ aud: appCode, alg: 'HS256' })
  expect(await inspectToken('no token', options)).toMatchObject({ valid: false, header: null, claims: null })
})

test('inspectToken shows the claims of a refused token', async () => {
  const [header, , signature] = good.split('.')
  const forged = `${header}.${Buffer.from('{"uid":"x"}').toString('base64url')}.${signature}`
  expect(await inspectToken(forged, expected)).toMatchObject({
    valid: false,
    claims: { uid: 'x' },
    checks: [{ name: 'size' }, { name: 'form' }, { name: 'header' }, { name: 'signature', code: 'TOKEN_SIGNATURE' }],
  })
})

test('inspectToken without an app checks that the app claims agree, and accepts a token without an app', async () => {
  const options = { ...expected, appCode: undefined, appId: undefined }
  expect((await inspectToken(good, options)).valid).toBe(true)
  const other = tokens.find(({ result }) => result === 'TOKEN_AUDIENCE')!
  expect((await inspectToken(other.token, options)).valid).toBe(true)
  const torn = tokens.find(({ name }) => name === 'aud fits, app_code does not')!
  expect((await inspectToken(torn.token, options)).checks.at(-1)!.code).toBe('APP_MISMATCH')
  const ofNoApp = signToken({ aud: CLAIMS.iss, app_code: undefined, app_id: undefined })
  const { valid, checks } = await inspectToken(ofNoApp, { secrets: [SECRET], now: () => NOW * 1000 })
  expect({ valid, app: checks.at(-1) }).toEqual({
    valid: true,
    app: { name: 'app', ok: true, detail: 'none: no app accepts it' },
  })
})

test('inspectToken reports a failed rule in the words of the SDK, with what it expected', async () => {
  const failing = async (claims: object, options: InspectOptions = {}) => {
    const token = signToken(claims)
    return (await inspectToken(token, { secrets: [SECRET], appCode: 'billing', now: () => NOW * 1000, ...options })).checks.at(-1)
  }
  expect(await failing({ exp: NOW - 60 })).toEqual({
    name: 'times',
    ok: false,
    code: 'TOKEN_EXPIRED',
    detail: "exp was 60 s ago by this machine's clock, clockToleranceSec is 5",
  })
  expect(await failing({ iss: 'x' })).toMatchObject({
    name: 'issuer',
    detail: 'expected iss "gatehouse" (JWT_ISSUER), got "x"',
  })
  expect(await failing({}, { secrets: [PREVIOUS_SECRET] })).toMatchObject({
    name: 'signature',
    detail: `expected key ${createKid(PREVIOUS_SECRET)} (JWT_ACCESS_SECRET), got key ${createKid(SECRET)}`,
  })
  expect(await failing({ roles: 'x' })).toMatchObject({
    name: 'claims',
    detail: 'expected roles to be a list of strings, got string',
  })
})

test('inspectToken and verify refuse the same tokens with the same codes', async () => {
  const auth = buildAuth({ secret: [SECRET, PREVIOUS_SECRET], appId: CLAIMS.app_id })
  const options = { secrets: [SECRET, PREVIOUS_SECRET], appCode: 'billing', appId: CLAIMS.app_id, now: () => NOW * 1000 }
  const claim = fc.constantFrom(...Object.keys(CLAIMS), 'org_id', 'org_slug', 'namespace')
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom(undefined, null, '', NOW, NOW - 5, NOW + 6, 'billing', ['a']))
  const header = fc.record(
    {
      alg: fc.constantFrom('HS256', 'none'),
      typ: fc.constantFrom('JWT', 'at+jwt', null),
      kid: fc.string(),
      crit: fc.constant([]),
    },
    { requiredKeys: [] },
  )
  const secret = fc.constantFrom(SECRET, SECRET, PREVIOUS_SECRET, 'a secret that nobody here has ever accepted')
  const signed = fc
    .tuple(fc.dictionary(claim, value, { maxKeys: 3 }), fc.oneof(fc.constant({}), header), secret)
    .map((parts) => signToken(...parts))
  const broken = fc.tuple(signed, fc.constantFrom('', '.', '=', 'é', 'A'), fc.nat(900)).map(([token, junk, at]) => {
    return token.slice(0, at) + junk + token.slice(at)
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof(signed, broken, fc.string(), fc.constant('x'.repeat(9000))), async (token) => {
      const verified = await auth.safeVerify(token)
      const { valid, checks } = await inspectToken(token, options)
      expect([valid, checks.at(-1)!.code]).toEqual(verified.ok ? [true, undefined] : [false, verified.error.code])
    }),
    { numRuns: 1000 },
  )
})
