import { createSecretKey } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { jwtVerify } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { expect, test } from 'vitest'
import type { AuthErrorCode } from './errors.ts'
import { buildAuth, CLAIMS, encode, KID, NOW, PREVIOUS_SECRET, SECRET, signParts, signToken } from './test-tokens.ts'

// Compares the SDK with jose and jsonwebtoken in strict settings. It accepts no token that one of them refuses, and if it refuses
// a token that one of them accepts, a rule of the table says why.

const key = createSecretKey(Buffer.from(SECRET))
const platforms = [buildAuth(), buildAuth({}, 'web'), buildAuth({ cacheTokens: 100 })]

const peers: Record<string, (token: string) => Promise<unknown>> = {
  jose: async (token) => {
    const strict = { algorithms: ['HS256'], issuer: 'gatehouse', audience: 'billing', clockTolerance: 5 }
    return jwtVerify(token, key, { ...strict, requiredClaims: ['exp', 'iat'], currentDate: new Date(NOW * 1000) })
  },
  jsonwebtoken: async (token) => {
    const strict = { algorithms: ['HS256' as const], issuer: 'gatehouse', audience: 'billing', clockTolerance: 5 }
    const payload = jsonwebtoken.verify(token, key, { ...strict, clockTimestamp: NOW })
    if (typeof payload === 'string') throw new Error('no object')
  },
}

/** What a lenient reader finds in a token. */
interface Facts {
  readonly token: string
  readonly parts: readonly string[]
  readonly header: Record<string, unknown>
  readonly claims: Record<string, unknown>
}

function factsOf(token: string): Facts {
  const parts = token.split('.')
  const parse = (part: string | undefined) => {
    try {
      return Object(JSON.parse(Buffer.from(part ?? '', 'base64url').toString()))
    } catch {
      return {}
    }
  }
  return { token, parts, header: parse(parts[0]), claims: parse(parts[1]) }
}

const isOptionalText = (value: unknown) => value === undefined || typeof value === 'string'
const isList = (value: unknown) => Array.isArray(value) && value.every((entry) => typeof entry === 'string')

/** Spells the same bytes differently, by setting a bit that belongs to none of them. */
function respelt(encoded: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return encoded.slice(0, -1) + alphabet[alphabet.indexOf(encoded.at(-1)!) + 1]
}

interface Rule {
  readonly code: AuthErrorCode
  readonly why: string
  readonly holds: (facts: Facts) => boolean
  /** A token that the rule refuses, and that jose or jsonwebtoken accepts. */
  readonly example: string
}

const HEADER = encode({ alg: 'HS256', typ: 'JWT', kid: KID })
const PAYLOAD = encode(CLAIMS)

/** Everything that is refused although a peer accepts it. docs/guard-a-backend/tokens.md gives the reasons at length. */
const rules: readonly Rule[] = [
  {
    code: 'TOKEN_TOO_LARGE',
    why: 'a token has a size that somebody who reads it before it is verified can bear',
    holds: ({ token }) => token.length > 16_384,
    example: signToken({ pad: 'x'.repeat(13_000) }),
  },
  {
    code: 'TOKEN_MALFORMED',
    why: 'a token has one spelling: no other alphabet, no padding, no spare bits',
    holds: ({ parts }) => parts.some((part) => Buffer.from(part, 'base64url').toString('base64url') !== part),
    example: signParts(
      HEADER,
      respelt(['', 'x', 'xx'].map((pad) => encode({ ...CLAIMS, pad })).find((part) => part.length % 4 === 2)!),
    ),
  },
  {
    code: 'TOKEN_SIGNATURE',
    why: 'a signature has one spelling',
    holds: ({ parts: [, , signature] }) => Buffer.from(signature!, 'base64url').toString('base64url') !== signature,
    example: respelt(signToken()),
  },
  {
    code: 'TOKEN_MALFORMED',
    why: 'header and payload are UTF-8, without a byte order mark',
    holds: ({ parts }) =>
      parts.slice(0, 2).some((part) => {
        const bytes = Buffer.from(part, 'base64url')
        return !Buffer.from(bytes.toString()).equals(bytes) || bytes.subarray(0, 3).equals(Buffer.from('\uFEFF'))
      }),
    example: signParts(HEADER, encode(Buffer.from(JSON.stringify(CLAIMS).replace('Ada', '\u00ff'), 'latin1'))),
  },
  {
    code: 'TOKEN_ALG',
    why: 'typ is JWT, spelt so, or absent',
    holds: ({ header }) => ![undefined, 'JWT'].includes(header.typ as string),
    example: signToken({}, { typ: 'jwt' }),
  },
  {
    code: 'TOKEN_ALG',
    why: 'a header that asks for more than we do is not waved through',
    holds: ({ header }) => header.crit !== undefined || header.b64 !== undefined,
    example: signToken({}, { crit: ['exp'], exp: 1 }),
  },
  {
    code: 'TOKEN_CLAIMS',
    why: 'exp and iat are there, and all times are exact integers',
    holds: ({ claims: { exp, iat, nbf = 0 } }) => ![exp, iat, nbf].every(Number.isSafeInteger),
    example: signToken({ exp: NOW + 0.5 }),
  },
  {
    code: 'TOKEN_NOT_YET_VALID',
    why: 'a token that was issued in the future was issued by nobody',
    holds: ({ claims }) => Number(claims.iat) > NOW + 5,
    example: signToken({ iat: NOW + 6 }),
  },
  {
    code: 'TOKEN_AUDIENCE',
    why: 'a token is for one app: a list of audiences is none of the service',
    holds: ({ claims }) => Array.isArray(claims.aud),
    example: signToken({ aud: ['shop', 'billing'] }),
  },
  {
    code: 'TOKEN_CLAIMS',
    why: 'uid and tv are there',
    holds: ({ claims: { uid, tv } }) => typeof uid !== 'string' || uid === '' || !Number.isSafeInteger(tv) || Number(tv) < 0,
    example: signToken({ tv: undefined }),
  },
  {
    code: 'TOKEN_CLAIMS',
    why: 'roles and permissions are lists of strings: a string would pass for a list wherever one looks for a part of it',
    holds: ({ claims: { roles = [], permissions = [] } }) => !isList(roles) || !isList(permissions),
    example: signToken({ permissions: 'invoices:read' }),
  },
  {
    code: 'TOKEN_CLAIMS',
    why: 'what a handler reads has the type that it expects',
    holds: ({ claims }) =>
      !['sid', 'email', 'jti', 'namespace', 'org_id', 'org_slug'].every((name) => isOptionalText(claims[name])) ||
      !['first_name', 'last_name'].every((name) => claims[name] === null || isOptionalText(claims[name])),
    example: signToken({ email: { toString: 1 } }),
  },
  {
    code: 'TOKEN_CLAIMS',
    why: 'no pool is the empty one, and no organization is half of one',
    holds: ({ claims: { namespace, org_id, org_slug } }) =>
      namespace === '' || org_id === '' || (org_id === undefined) !== (org_slug === undefined),
    example: signToken({ org_id: 'o-1' }),
  },
  {
    code: 'APP_MISMATCH',
    why: 'the app is bound twice',
    holds: ({ claims: { app_code, app_id } }) => app_code !== 'billing' || typeof app_id !== 'string' || app_id === '',
    example: signToken({ app_id: undefined }),
  },
]

async function outcomesOf(token: string) {
  const ours = await Promise.all(platforms.map((auth) => auth.safeVerify(token)))
  const taking: string[] = []
  for (const [name, verify] of Object.entries(peers)) {
    await verify(token).then(
      () => taking.push(name),
      () => {},
    )
  }
  return { ours, taking }
}

/** Fails if we accept what a peer refuses, refuse for no listed reason what a peer accepts, or reveal anything of the token. */
async function judge(token: string): Promise<void> {
  const { ours, taking } = await outcomesOf(token)
  const codes = ours.map((outcome) => (outcome.ok ? 'ok' : outcome.error.code))
  expect(new Set(codes).size, `one outcome on every platform, not ${codes}`).toBe(1)
  const [outcome] = ours
  if (outcome!.ok) {
    expect(taking).toEqual(Object.keys(peers))
    return
  }
  const { error } = outcome!
  if (taking.length > 0) {
    const facts = factsOf(token)
    const explained = rules.some(({ code, holds }) => code === error.code && holds(facts))
    expect(explained, `${error.code}, but ${taking} would take ${token}`).toBe(true)
  }
  const printed = inspect(error, { showHidden: true }) + JSON.stringify(error)
  for (const part of token.split('.')) if (part.length > 8) expect(printed).not.toContain(part.slice(0, 9))
}

test('every verifier accepts a good token', async () => {
  expect(await outcomesOf(signToken())).toMatchObject({ ours: Array(3).fill({ ok: true }), taking: Object.keys(peers) })
})

test.each(rules)('the SDK refuses a token that a peer accepts: $why', async ({ code, holds, example }) => {
  const { ours, taking } = await outcomesOf(example)
  for (const outcome of ours) expect(outcome).toMatchObject({ ok: false, error: { code } })
  expect(taking.length).toBeGreaterThan(0)
  expect(holds(factsOf(example))).toBe(true)
  await judge(example)
})

const time = fc.oneof(
  fc.integer({ min: NOW - 10, max: NOW + 10 }),
  fc.constantFrom(NOW + 900, NOW + 0.5, 2 ** 60, -1, 0, null, true),
  fc.double(),
  fc.string(),
)
const word = fc.oneof(
  fc.constantFrom('gatehouse', 'billing', 'shop', ''),
  fc.string(),
  fc.array(fc.constant('billing')),
  fc.json(),
)
const list = fc.oneof(fc.array(fc.string()), fc.string(), fc.constant(null), fc.array(fc.integer()))
const anyClaims = fc.record(
  {
    ...{
      exp: time,
      nbf: time,
      iat: time,
      tv: fc.oneof(fc.nat(), time),
      iss: word,
      aud: word,
      uid: word,
      app_code: word,
      app_id: word,
    },
    ...{
      sid: word,
      email: word,
      first_name: word,
      namespace: word,
      org_id: word,
      org_slug: word,
      roles: list,
      permissions: list,
    },
  },
  { requiredKeys: [] },
)
/** Changes only a few claims at once, so that the others let the token get as far as these. */
const claims = anyClaims.chain((all) =>
  fc
    .subarray(Object.keys(all), { maxLength: 3 })
    .map((names) => Object.fromEntries(names.map((name) => [name, all[name as 'exp']]))),
)
const header = fc.record(
  {
    alg: fc.constantFrom('HS256', 'HS256', 'HS512', 'none', 'RS256', 'hs256'),
    typ: fc.constantFrom('JWT', 'jwt', 'at+jwt', null),
    kid: fc.oneof(fc.string(), fc.constantFrom(KID, null, 7)),
    crit: fc.constantFrom(['exp'], [], 'exp'),
    b64: fc.boolean(),
    cty: fc.string(),
  },
  { requiredKeys: [] },
)
const secret = fc.constantFrom(SECRET, SECRET, SECRET, SECRET, PREVIOUS_SECRET)

/** Texts that are JSON in unusual spellings, or not at all: with blanks, a member twice, or something inserted anywhere. */
const payloadText = fc
  .tuple(
    claims,
    fc.nat(40),
    fc.constantFrom(' ', '\n', '\uFEFF', '"tv":1,', '"exp":1,', '"aud":"billing",', '{', '}', ',', '\\u0041', '\u0000'),
  )
  .map(([changes, position, inserted]) => {
    const text = JSON.stringify({ ...CLAIMS, ...changes })
    return text.slice(0, position) + inserted + text.slice(position)
  })

const edited = (text: fc.Arbitrary<string>) =>
  fc
    .tuple(text, fc.nat(2_000), fc.nat(2), fc.constantFrom('', '=', '.', ' ', '+', '/', 'A', 'B', '\n', 'é'))
    .map(([whole, at, cut, inserted]) => {
      const position = at % (whole.length + 1)
      return whole.slice(0, position) + inserted + whole.slice(position + cut)
    })

const tokens: Record<string, fc.Arbitrary<string>> = {
  'any claims, well signed': fc
    .tuple(claims, header, secret)
    .map(([changes, members, with_]) => signToken(changes, members, with_)),
  'any text in the payload, well signed': payloadText.map((text) => signToken(text)),
  'any spelling of the parts, well signed': fc
    .tuple(edited(fc.constant(HEADER)), edited(fc.constant(PAYLOAD)), fc.boolean())
    .map(([first, second, changesHeader]) => (changesHeader ? signParts(first, PAYLOAD) : signParts(HEADER, second))),
  'a token that was tampered with': edited(claims.map((changes) => signToken(changes))),
  'any parts': fc
    .array(fc.oneof(fc.constantFrom(HEADER, PAYLOAD, ''), fc.base64String(), fc.json().map(encode)), { maxLength: 5 })
    .map((parts) => parts.join('.')),
}

test.each(Object.entries(tokens))(
  'the SDK accepts no token that a peer refuses, and each refusal falls under a rule: %s',
  async (_, arbitrary) => {
    await fc.assert(fc.asyncProperty(arbitrary, judge), { numRuns: 500 })
  },
)
