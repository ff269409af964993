import { generateKeyPairSync, sign } from 'node:crypto'
import { inspect } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LocalAuth } from './auth.ts'
import type { AuthOptions } from './config.ts'
import { AuthError, type AuthErrorCode } from './errors.ts'
import { buildAuth, CLAIMS, createKid, encode, KID, NOW, PREVIOUS_SECRET, SECRET, signParts, signToken } from './test-tokens.ts'

const OTHER_SECRET = 'a secret that nobody here has ever accepted'
const HEADER = encode({ alg: 'HS256', typ: 'JWT', kid: KID })
const PAYLOAD = encode(CLAIMS)
const GOOD = signToken()
const SIGNATURE = GOOD.slice(-43)

/** Every way to verify. Each returns the claims or the code of the error; any other error fails the test. */
const ways: Record<string, (token: unknown, options?: AuthOptions) => Promise<unknown>> = {
  verify: (token, options) => outcome(async (auth) => auth.verify(token), buildAuth(options)),
  verifySync: (token, options) => outcome(async (auth) => auth.verifySync(token), buildAuth(options)),
  'verify through WebCrypto': (token, options) => outcome(async (auth) => auth.verify(token), buildAuth(options, 'web')),
  'verify with a cache, the second time': (token, options) => secondOutcome(token, buildAuth({ cacheTokens: 10, ...options })),
  'verify through WebCrypto with a cache, the second time': (token, options) =>
    secondOutcome(token, buildAuth({ cacheTokens: 10, ...options }, 'web')),
}

/** Verifies a token twice. By the second time, the cache holds the good token, and any other that `auth` accepted. */
async function secondOutcome(token: unknown, auth: LocalAuth): Promise<unknown> {
  await auth.safeVerify(GOOD)
  const first = await outcome(async () => auth.verify(token), auth)
  const second = await outcome(async () => auth.verify(token), auth)
  expect(second).toEqual(first)
  return second
}

async function outcome(run: (auth: LocalAuth) => Promise<{ claims: object }>, auth: LocalAuth): Promise<unknown> {
  try {
    return (await run(auth)).claims
  } catch (error) {
    if (!AuthError.is(error)) throw error
    return error.code
  }
}

/** Returns the good payload as text, with one part replaced: `JSON.stringify` cannot write a member twice, or 1e999. */
const payloadText = (from: string, to: string) => {
  const text = JSON.stringify(CLAIMS)
  if (!text.includes(from)) throw new Error(`the payload has no ${from}`)
  return text.replace(from, to)
}

/** The last character beyond the groups of four has spare bits. Setting one spells the same bytes differently. */
const withSpareBits = (encoded: string) => {
  if (encoded.length % 4 === 0) throw new Error('no spare bits here')
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return encoded.slice(0, -1) + letters[letters.indexOf(encoded.at(-1)!) + 1]
}

const paddedTo = (remainder: number) => {
  for (let pad = ''; ; pad += 'x') {
    const encoded = encode({ ...CLAIMS, pad })
    if (encoded.length % 4 === remainder) return encoded
  }
}

/** A careless reader that keeps the low byte of each character reads the same text. */
const foldable = (encoded: string) => String.fromCharCode(0x100 + encoded.charCodeAt(0)) + encoded.slice(1)

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const rs256 = `${encode({ alg: 'RS256', typ: 'JWT', kid: KID })}.${PAYLOAD}`

const hostile: [name: string, token: unknown, code: AuthErrorCode][] = [
  ['no token', undefined, 'TOKEN_MISSING'],
  ['null', null, 'TOKEN_MISSING'],
  ['an empty string', '', 'TOKEN_MISSING'],
  ['an object that prints as a good token', { toString: () => GOOD }, 'TOKEN_MALFORMED'],
  ['a list that holds a good token', [GOOD], 'TOKEN_MALFORMED'],

  ['a token over the limit', `${GOOD}${'A'.repeat(16_384)}`, 'TOKEN_TOO_LARGE'],
  ['a genuine token over the limit', signToken({ pad: 'x'.repeat(13_000) }), 'TOKEN_TOO_LARGE'],

  ['one part', HEADER, 'TOKEN_MALFORMED'],
  ['two parts', `${HEADER}.${PAYLOAD}`, 'TOKEN_MALFORMED'],
  ['two parts, the second a good signature of the first', signParts(HEADER, '').replace('..', '.'), 'TOKEN_MALFORMED'],
  ['four parts', `${GOOD}.${PAYLOAD}`, 'TOKEN_MALFORMED'],
  ['four parts, signed', signParts(HEADER, `${PAYLOAD}.${PAYLOAD}`), 'TOKEN_MALFORMED'],
  ['five parts, as encrypted tokens have', `${GOOD}.${PAYLOAD}.${PAYLOAD}`, 'TOKEN_MALFORMED'],
  ['only dots', '..', 'TOKEN_MALFORMED'],
  ['an empty payload, signed', signParts(HEADER, ''), 'TOKEN_MALFORMED'],
  ['a blank before', ` ${GOOD}`, 'TOKEN_MALFORMED'],
  ['a blank after', `${GOOD} `, 'TOKEN_MALFORMED'],
  ['a line break after', `${GOOD}\n`, 'TOKEN_MALFORMED'],
  ['a line break in the payload, signed', signParts(HEADER, `${PAYLOAD.slice(0, 8)}\n${PAYLOAD.slice(8)}`), 'TOKEN_MALFORMED'],
  ['a NUL in the payload, signed', signParts(HEADER, `${PAYLOAD.slice(0, 8)}\0${PAYLOAD.slice(8)}`), 'TOKEN_MALFORMED'],
  ['padding after the signature', `${GOOD}=`, 'TOKEN_MALFORMED'],
  ['padding after the payload, signed', signParts(HEADER, `${paddedTo(2)}==`), 'TOKEN_MALFORMED'],
  ['spare bits in the last character of the payload, signed', signParts(HEADER, withSpareBits(paddedTo(2))), 'TOKEN_MALFORMED'],
  ['spare bits, one character further, signed', signParts(HEADER, withSpareBits(paddedTo(3))), 'TOKEN_MALFORMED'],
  ['a payload of impossible length, signed', signParts(HEADER, `${paddedTo(0)}A`), 'TOKEN_MALFORMED'],
  [
    'the other base64 alphabet in the payload, signed',
    signParts(
      HEADER,
      Buffer.from(JSON.stringify({ ...CLAIMS, pad: '???>>>~~~' }))
        .toString('base64')
        .replaceAll('=', ''),
    ),
    'TOKEN_MALFORMED',
  ],
  ['a character that Latin-1 folds onto the right one', `${HEADER}.${foldable(PAYLOAD)}.${SIGNATURE}`, 'TOKEN_MALFORMED'],
  ['such a character in the header', `${foldable(HEADER)}.${PAYLOAD}.${SIGNATURE}`, 'TOKEN_MALFORMED'],
  ['such a character in the signature', `${HEADER}.${PAYLOAD}.${foldable(SIGNATURE)}`, 'TOKEN_MALFORMED'],
  ['a header that is not JSON', signParts(encode('{"alg":"HS256"'), PAYLOAD), 'TOKEN_MALFORMED'],
  ['a header that is a list', signParts(encode(['HS256']), PAYLOAD), 'TOKEN_MALFORMED'],
  ['a header that is null', signParts(encode(null), PAYLOAD), 'TOKEN_MALFORMED'],
  ['a header with spare bits', signParts(withSpareBits(encode({ alg: 'HS256', a: 12 })), PAYLOAD), 'TOKEN_MALFORMED'],

  ['alg none, unsigned', `${encode({ alg: 'none', typ: 'JWT' })}.${PAYLOAD}.`, 'TOKEN_ALG'],
  ['alg None, signed', signToken({}, { alg: 'None' }), 'TOKEN_ALG'],
  ['alg hs256 in small letters', signToken({}, { alg: 'hs256' }), 'TOKEN_ALG'],
  ['no alg', signToken({}, { alg: undefined }), 'TOKEN_ALG'],
  ['alg as a list', signToken({}, { alg: ['HS256'] }), 'TOKEN_ALG'],
  [
    'HS512 with the right secret',
    signParts(encode({ alg: 'HS512', typ: 'JWT', kid: KID }), PAYLOAD, SECRET, 'sha512'),
    'TOKEN_ALG',
  ],
  [
    'HS384 with the right secret',
    signParts(encode({ alg: 'HS384', typ: 'JWT', kid: KID }), PAYLOAD, SECRET, 'sha384'),
    'TOKEN_ALG',
  ],
  [
    'RS256, signed by an RSA key',
    `${rs256}.${sign('sha256', Buffer.from(rs256), rsa.privateKey).toString('base64url')}`,
    'TOKEN_ALG',
  ],
  ['an RS256 header over an HMAC', signToken({}, { alg: 'RS256' }), 'TOKEN_ALG'],
  ['crit', signToken({}, { crit: ['exp'], exp: 1 }), 'TOKEN_ALG'],
  ['crit that lists nothing', signToken({}, { crit: [] }), 'TOKEN_ALG'],
  ['b64 false', signToken({}, { b64: false }), 'TOKEN_ALG'],
  ['b64 true', signToken({}, { b64: true }), 'TOKEN_ALG'],
  ['the typ of a consumer assertion', signToken({}, { typ: 'consumer+jwt' }), 'TOKEN_ALG'],
  ['typ in small letters', signToken({}, { typ: 'jwt' }), 'TOKEN_ALG'],
  ['typ null', signToken({}, { typ: null }), 'TOKEN_ALG'],

  ['another secret, its own kid', signToken({}, {}, OTHER_SECRET), 'TOKEN_SIGNATURE'],
  ['another secret under our kid', signToken({}, { kid: KID }, OTHER_SECRET), 'TOKEN_SIGNATURE'],
  ['another secret, no kid', signToken({}, { kid: undefined }, OTHER_SECRET), 'TOKEN_SIGNATURE'],
  ['the secret read as base64', signParts(HEADER, PAYLOAD, Buffer.from(SECRET, 'base64').toString('latin1')), 'TOKEN_SIGNATURE'],
  ['no signature', `${HEADER}.${PAYLOAD}.`, 'TOKEN_SIGNATURE'],
  ['half a signature', GOOD.slice(0, -21), 'TOKEN_SIGNATURE'],
  ['a signature with something behind it', `${GOOD}AAAA`, 'TOKEN_SIGNATURE'],
  ['spare bits in the signature', `${HEADER}.${PAYLOAD}.${withSpareBits(SIGNATURE)}`, 'TOKEN_SIGNATURE'],
  ['the payload of another token', [HEADER, encode({ ...CLAIMS, uid: 'x' }), GOOD.split('.')[2]].join('.'), 'TOKEN_SIGNATURE'],
  ['a forged token that has also expired', signToken({ exp: 1 }, {}, OTHER_SECRET), 'TOKEN_SIGNATURE'],

  ['a payload that is a list', signToken('[]'), 'TOKEN_MALFORMED'],
  ['a payload that is a string', signToken('"claims"'), 'TOKEN_MALFORMED'],
  ['a payload that is null', signToken('null'), 'TOKEN_MALFORMED'],
  ['a payload that is a number', signToken('1'), 'TOKEN_MALFORMED'],
  ['a payload that is not JSON', signToken('{"uid":'), 'TOKEN_MALFORMED'],
  ['a payload with something behind it', signToken(`${JSON.stringify(CLAIMS)}}`), 'TOKEN_MALFORMED'],
  [
    'a payload that is not JSON before its lists',
    signToken('{"uid":"a",,"roles":["base_user"],"permissions":[]}'),
    'TOKEN_MALFORMED',
  ],
  ['a payload behind a byte order mark', signToken(`\uFEFF${JSON.stringify(CLAIMS)}`), 'TOKEN_MALFORMED'],
  [
    'a payload that is not UTF-8',
    signParts(HEADER, encode(Buffer.from(JSON.stringify(CLAIMS).replace('Ada', '\u00ff'), 'latin1'))),
    'TOKEN_MALFORMED',
  ],
  [
    'a payload that ends inside a UTF-8 character',
    signParts(HEADER, encode(Buffer.from([0x22, 0xf0, 0x9f, 0x98]))),
    'TOKEN_MALFORMED',
  ],

  ['no exp', signToken({ exp: undefined }), 'TOKEN_CLAIMS'],
  ['exp as a string', signToken({ exp: String(NOW + 900) }), 'TOKEN_CLAIMS'],
  ['exp with a fraction', signToken({ exp: NOW + 0.5 }), 'TOKEN_CLAIMS'],
  ['exp beyond all numbers', signToken(payloadText(`"exp":${NOW + 900}`, '"exp":1e999')), 'TOKEN_CLAIMS'],
  ['exp beyond exact integers', signToken({ exp: 2 ** 60 }), 'TOKEN_CLAIMS'],
  ['exp null', signToken({ exp: null }), 'TOKEN_CLAIMS'],
  ['exp true', signToken({ exp: true }), 'TOKEN_CLAIMS'],
  ['exp as a list', signToken({ exp: [NOW + 900] }), 'TOKEN_CLAIMS'],
  ['expired, at the end of the tolerance', signToken({ exp: NOW - 5 }), 'TOKEN_EXPIRED'],
  ['expired long ago', signToken({ exp: 0 }), 'TOKEN_EXPIRED'],
  ['exp negative', signToken({ exp: -NOW }), 'TOKEN_EXPIRED'],
  ['expired, and of another app', signToken({ exp: NOW - 5, aud: 'shop', app_code: 'shop' }), 'TOKEN_EXPIRED'],
  ['exp twice, the last one past', signToken(payloadText('"roles"', '"exp":1,"roles"')), 'TOKEN_EXPIRED'],
  ['exp again behind the lists, past', signToken(payloadText('"]}', '"],"exp":1}')), 'TOKEN_EXPIRED'],
  ['nbf past the tolerance', signToken({ nbf: NOW + 6 }), 'TOKEN_NOT_YET_VALID'],
  ['nbf as a string', signToken({ nbf: String(NOW) }), 'TOKEN_CLAIMS'],
  ['nbf with a fraction', signToken({ nbf: NOW - 0.5 }), 'TOKEN_CLAIMS'],
  ['nbf null', signToken({ nbf: null }), 'TOKEN_CLAIMS'],
  ['iat past the tolerance', signToken({ iat: NOW + 6 }), 'TOKEN_NOT_YET_VALID'],
  ['no iat', signToken({ iat: undefined }), 'TOKEN_CLAIMS'],
  ['iat as a string', signToken({ iat: String(NOW) }), 'TOKEN_CLAIMS'],
  ['no iss', signToken({ iss: undefined }), 'TOKEN_ISSUER'],
  ['another iss', signToken({ iss: 'gatehouse ' }), 'TOKEN_ISSUER'],
  ['iss as a list', signToken({ iss: ['gatehouse'] }), 'TOKEN_ISSUER'],
  ['no aud', signToken({ aud: undefined }), 'TOKEN_AUDIENCE'],
  ['another app', signToken({ aud: 'shop', app_code: 'shop' }), 'TOKEN_AUDIENCE'],
  ['another app that differs in case', signToken({ aud: 'Billing', app_code: 'Billing' }), 'TOKEN_AUDIENCE'],
  ['aud as a list that names us', signToken({ aud: ['billing'] }), 'TOKEN_AUDIENCE'],
  ['aud for the service itself', signToken({ aud: 'gatehouse', app_code: undefined, app_id: undefined }), 'TOKEN_AUDIENCE'],
  ['no uid', signToken({ uid: undefined }), 'TOKEN_CLAIMS'],
  ['an empty uid', signToken({ uid: '' }), 'TOKEN_CLAIMS'],
  ['uid as a number', signToken({ uid: 7 }), 'TOKEN_CLAIMS'],
  ['no tv', signToken({ tv: undefined }), 'TOKEN_CLAIMS'],
  ['tv with a fraction', signToken({ tv: 3.5 }), 'TOKEN_CLAIMS'],
  ['tv as a string', signToken({ tv: '3' }), 'TOKEN_CLAIMS'],
  ['tv negative', signToken({ tv: -1 }), 'TOKEN_CLAIMS'],
  ['roles as a string', signToken({ roles: 'system_admin' }), 'TOKEN_CLAIMS'],
  ['permissions as a string', signToken({ permissions: 'invoices:read' }), 'TOKEN_CLAIMS'],
  ['permissions that hold a number', signToken({ permissions: ['invoices:read', 1] }), 'TOKEN_CLAIMS'],
  ['permissions as an object', signToken({ permissions: { length: 1, 0: 'invoices:read' } }), 'TOKEN_CLAIMS'],
  ['an empty pool', signToken({ namespace: '' }), 'TOKEN_CLAIMS'],
  ['a pool that is a list', signToken({ namespace: ['eu'] }), 'TOKEN_CLAIMS'],
  ['half an organization', signToken({ org_id: 'o-1' }), 'TOKEN_CLAIMS'],
  ['the other half', signToken({ org_slug: 'acme' }), 'TOKEN_CLAIMS'],
  ['email as an object', signToken({ email: {} }), 'TOKEN_CLAIMS'],

  ['aud that fits, app_code that does not', signToken({ app_code: 'shop' }), 'APP_MISMATCH'],
  ['no app_code', signToken({ app_code: undefined }), 'APP_MISMATCH'],
  ['no app_id', signToken({ app_id: undefined }), 'APP_MISMATCH'],
  ['app_id null', signToken({ app_id: null }), 'APP_MISMATCH'],
  ['an empty app_id', signToken({ app_id: '' }), 'APP_MISMATCH'],
]

for (const [way, verify] of Object.entries(ways)) {
  describe(way, () => {
    // covers service-local-validation
    test('a token of the service is accepted', async () => {
      expect(await verify(GOOD)).toEqual(CLAIMS)
    })

    // covers auth-app-binding auth-without-app
    test.each(hostile)('a token is refused: %s', async (_, token, code) => {
      expect(await verify(token)).toBe(code)
    })

    test('a token of an app with another id is refused once the id is known', async () => {
      const options = { appId: CLAIMS.app_id }
      expect(await verify(GOOD, options)).toEqual(CLAIMS)
      expect(await verify(signToken({ app_id: '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c99' }), options)).toBe('APP_MISMATCH')
    })

    test.each([
      ['without kid', { kid: undefined }],
      ['with an unknown kid', { kid: 'deadbeef' }],
      ['with a kid that is not a string', { kid: 7 }],
      ['without typ', { typ: undefined }],
      ['with members that mean nothing here', { jku: 'https://example.com/keys', jwk: {}, x5c: [] }],
    ])('a header %s is accepted', async (_, header) => {
      expect(await verify(signToken({}, header))).toEqual(CLAIMS)
    })

    test('a header in another order is accepted', async () => {
      expect(await verify(signParts(encode({ typ: 'JWT', kid: KID, alg: 'HS256' }), PAYLOAD))).toEqual(CLAIMS)
    })

    // covers auth-rotation-coordinated
    test('tokens of either secret are accepted during a rotation, each only under its own kid', async () => {
      const options = { secret: [SECRET, PREVIOUS_SECRET] } as const
      expect(await verify(GOOD, options)).toEqual(CLAIMS)
      expect(await verify(signToken({}, {}, PREVIOUS_SECRET), options)).toEqual(CLAIMS)
      expect(await verify(signToken({}, { kid: undefined }, PREVIOUS_SECRET), options)).toEqual(CLAIMS)
      expect(await verify(signToken({}, { kid: KID }, PREVIOUS_SECRET), options)).toBe('TOKEN_SIGNATURE')
      expect(await verify(signToken({}, { kid: createKid(PREVIOUS_SECRET) }), options)).toBe('TOKEN_SIGNATURE')
      expect(await verify(signToken({}, {}, OTHER_SECRET), options)).toBe('TOKEN_SIGNATURE')
      expect(await verify(signToken({}, {}, PREVIOUS_SECRET))).toBe('TOKEN_SIGNATURE')
    })

    // covers service-secret-length
    test.each([32, 63, 64, 65, 200])('a secret of %i characters is accepted, ASCII or not', async (length) => {
      for (const character of ['s', 'ß', '€']) {
        const secret = character.repeat(length)
        expect(await verify(signToken({}, {}, secret), { secret })).toEqual(CLAIMS)
      }
    })

    test('the clock tolerance is exact to the second', async () => {
      for (const clockToleranceSec of [0, 5, 60]) {
        const edge = { exp: NOW - clockToleranceSec + 1, nbf: NOW + clockToleranceSec, iat: NOW + clockToleranceSec }
        expect(await verify(signToken(edge), { clockToleranceSec })).toMatchObject(edge)
        expect(await verify(signToken({ exp: edge.exp - 1 }), { clockToleranceSec })).toBe('TOKEN_EXPIRED')
        expect(await verify(signToken({ nbf: edge.nbf + 1 }), { clockToleranceSec })).toBe('TOKEN_NOT_YET_VALID')
        expect(await verify(signToken({ iat: edge.iat + 1 }), { clockToleranceSec })).toBe('TOKEN_NOT_YET_VALID')
      }
    })

    test('every token is refused if the clock gives no number', async () => {
      expect(await verify(GOOD, { now: () => Number.NaN })).toBe('TOKEN_EXPIRED')
    })

    test('a token of exactly the size limit is accepted', async () => {
      const maxTokenBytes = GOOD.length
      expect(await verify(GOOD, { maxTokenBytes })).toEqual(CLAIMS)
      expect(await verify(GOOD, { maxTokenBytes: maxTokenBytes - 1 })).toBe('TOKEN_TOO_LARGE')
    })

    test('text beyond ASCII is accepted, and the replacement character if it was really sent', async () => {
      for (const first_name of ['Zoë', '愛', '😀', 'a\uFFFDb', 'quote " and \\']) {
        expect(await verify(signToken({ first_name }))).toMatchObject({ first_name })
      }
    })

    test('the last of two equal members counts, as in JSON.parse', async () => {
      expect(await verify(signToken(payloadText('"tv":3', '"tv":1,"tv":4')))).toMatchObject({ tv: 4 })
      expect(await verify(signToken(payloadText('"tv":3', '"roles":["system_admin"],"tv":3')))).toEqual(CLAIMS)
      const behind = payloadText('"]}', '"],"permissions":[]}')
      expect(await verify(signToken(behind))).toMatchObject({ permissions: [] })
    })

    test('lists inside other members are not mistaken for roles or permissions', async () => {
      const nested = { x: { a: 1, roles: ['system_admin'], permissions: ['all:all'] } }
      expect(await verify(signToken(nested))).toEqual({ ...CLAIMS, ...nested })
      const text = { email: ',"roles":["system_admin"],"permissions":["all:all"]}' }
      expect(await verify(signToken(text))).toEqual({ ...CLAIMS, ...text })
      const last = JSON.stringify({ ...CLAIMS, y: nested })
      expect(await verify(signToken(last))).toEqual({ ...CLAIMS, y: nested })
    })

    test('a token without lists has empty ones', async () => {
      const claims = await verify(signToken({ roles: undefined, permissions: undefined }))
      expect(claims).toMatchObject({ roles: [], permissions: [] })
    })

    test('__proto__ in a payload stays data', async () => {
      const polluted = payloadText('"tv":3', '"__proto__":{"tv":9,"admin":true},"constructor":{"prototype":{"admin":true}}')
      expect(await verify(signToken(polluted))).toBe('TOKEN_CLAIMS')
      const harmless = await verify(signToken(payloadText('"tv":3', '"tv":3,"__proto__":{"admin":true}')))
      expect(Object.getPrototypeOf(harmless)).toBe(Object.prototype)
      expect(harmless).not.toHaveProperty('admin', true)
      expect(({} as { admin?: boolean }).admin).toBeUndefined()
    })

    test('no error contains a part of the token, however it is printed', async () => {
      const canary = 'CANARY'
      const parts = [canary, encode({ alg: canary }), encode({ ...CLAIMS, aud: canary, iss: canary, uid: canary })]
      const tokens = [
        ...hostile.map(([, token]) => token),
        ...parts,
        signToken({ uid: canary, tv: canary }),
        signToken(`{"${canary}`),
      ]
      for (const token of tokens) {
        const platform = way.includes('WebCrypto') ? 'web' : 'node'
        const result = await buildAuth({}, platform).safeVerify(token)
        if (result.ok) throw new Error('a hostile token was taken')
        const printed = [
          inspect(result.error, { depth: null, showHidden: true }),
          JSON.stringify(result.error),
          String(result.error),
        ]
        expect(printed.join()).not.toContain(canary)
        for (const part of typeof token === 'string' ? token.split('.') : []) {
          if (part.length > 8) expect(printed.join()).not.toContain(part.slice(0, 9))
        }
        expect(result.error.cause).toBeUndefined()
      }
    })

    test('a good token with any one bit flipped is refused', async () => {
      const bytes = Buffer.from(GOOD)
      const bit = fc.tuple(fc.nat(bytes.length - 1), fc.nat(7))
      await fc.assert(
        fc.asyncProperty(bit, async ([position, shift]) => {
          const flipped = Buffer.from(bytes)
          flipped[position]! ^= 1 << shift
          expect(await verify(flipped.toString('latin1'))).toEqual(expect.any(String))
        }),
        { numRuns: 300 },
      )
    })

    test('any text gives an AuthError', async () => {
      const part = fc.oneof(fc.string(), fc.base64String(), fc.json().map(encode), fc.constantFrom(HEADER, PAYLOAD))
      const text = fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(part, { maxLength: 5 }).map((parts) => parts.join('.')),
      )
      await fc.assert(
        fc.asyncProperty(text, async (token) => {
          expect(await verify(token)).toEqual(expect.any(String))
        }),
        { numRuns: 300 },
      )
    })

    test('any payload that the service signs gives an AuthError or sound claims', async () => {
      await fc.assert(
        fc.asyncProperty(fc.oneof(fc.json(), fc.string(), fc.uint8Array()), async (payload) => {
          const token = signParts(HEADER, encode(payload))
          expect(await verify(token)).toEqual(expect.any(String))
        }),
        { numRuns: 300 },
      )
    })
  })
}
