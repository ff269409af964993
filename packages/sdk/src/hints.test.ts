import { inspect } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import type { AuthOptions } from './config.ts'
import type { AuthErrorCode } from './errors.ts'
import { createAuth } from './index.ts'
import { buildAuth, CLAIMS, createKid, encode, KID, NOW, PREVIOUS_SECRET, SECRET, signParts, signToken } from './test-tokens.ts'

// The hints that a developer gets about a refused token: what was expected, and what was received.

const OTHER_SECRET = 'a secret that nobody here has ever accepted'
const OTHER_ID = '0198c5a2-7c1e-7d3f-9a55-3f1f0b6a1c99'
const good = signToken()
const clock = "by this machine's clock, clockToleranceSec is 5"
const quoted = `"${SECRET}"`

const hints: [name: string, token: unknown, code: AuthErrorCode, hint: string, options?: AuthOptions][] = [
  ['no token', '', 'TOKEN_MISSING', 'expected Authorization: Bearer <token>'],
  ['a token that is a list', [good], 'TOKEN_MALFORMED', 'expected three base64url parts, got a list'],
  ['a word', 'none', 'TOKEN_MALFORMED', 'expected three base64url parts, got 1 in 4 characters'],
  [
    'a payload that is a list',
    signToken('[]'),
    'TOKEN_MALFORMED',
    'expected the payload to be a JSON object in canonical base64url',
  ],
  [
    'a long one',
    'x'.repeat(300),
    'TOKEN_TOO_LARGE',
    'expected at most 256 characters (maxTokenBytes), got 300',
    { maxTokenBytes: 256 },
  ],
  [
    'another algorithm',
    signToken({}, { alg: 'none' }),
    'TOKEN_ALG',
    'expected alg "HS256", typ "JWT", no crit, no b64, got alg "none", typ "JWT"',
  ],
  [
    'an algorithm of any length, with a line break in it',
    signToken({}, { alg: `\n${'x'.repeat(500)}` }),
    'TOKEN_ALG',
    `expected alg "HS256", typ "JWT", no crit, no b64, got alg "\\n${'x'.repeat(99)}", typ "JWT"`,
  ],
  [
    'another secret',
    signToken({}, {}, OTHER_SECRET),
    'TOKEN_SIGNATURE',
    `expected key ${KID} (JWT_ACCESS_SECRET), got key ${createKid(OTHER_SECRET)}`,
  ],
  [
    'neither of two secrets',
    signToken({}, {}, OTHER_SECRET),
    'TOKEN_SIGNATURE',
    `expected key ${KID} or ${createKid(PREVIOUS_SECRET)} (JWT_ACCESS_SECRET), got key ${createKid(OTHER_SECRET)}`,
    { secret: [SECRET, PREVIOUS_SECRET] },
  ],
  [
    'no key id',
    signToken({}, { kid: undefined }, OTHER_SECRET),
    'TOKEN_SIGNATURE',
    `expected key ${KID} (JWT_ACCESS_SECRET), got no key id`,
  ],
  [
    'an invalid key id',
    signToken({}, { kid: 'CANARY\n' }, OTHER_SECRET),
    'TOKEN_SIGNATURE',
    `expected key ${KID} (JWT_ACCESS_SECRET), got no key id`,
  ],
  [
    'a forged token',
    signToken({}, { kid: KID }, OTHER_SECRET),
    'TOKEN_SIGNATURE',
    `key ${KID} did not sign this: it was forged or changed`,
  ],
  [
    'a secret in quotes',
    good,
    'TOKEN_SIGNATURE',
    `expected key ${createKid(quoted)} (JWT_ACCESS_SECRET), got key ${KID}; the secret is in quotes`,
    { secret: quoted },
  ],
  [
    'a secret with a line break behind it',
    good,
    'TOKEN_SIGNATURE',
    `expected key ${createKid(`${SECRET}\n`)} (JWT_ACCESS_SECRET), got key ${KID}; the secret begins or ends with white space`,
    { secret: `${SECRET}\n` },
  ],
  ['an expired one', signToken({ exp: NOW - 65 }), 'TOKEN_EXPIRED', `exp was 65 s ago ${clock}`],
  ['one from the future', signToken({ nbf: NOW + 120 }), 'TOKEN_NOT_YET_VALID', `a clock is off: nbf is 120 s ahead ${clock}`],
  ['one made in the future', signToken({ iat: NOW + 120 }), 'TOKEN_NOT_YET_VALID', `a clock is off: iat is 120 s ahead ${clock}`],
  ['another issuer', signToken({ iss: 'house' }), 'TOKEN_ISSUER', 'expected iss "gatehouse" (JWT_ISSUER), got "house"'],
  ['another app', signToken({ aud: 'shop' }), 'TOKEN_AUDIENCE', 'expected aud "billing" (SERVICE_APP_CODE), got "shop"'],
  ['a list of apps', signToken({ aud: ['billing'] }), 'TOKEN_AUDIENCE', 'expected aud "billing" (SERVICE_APP_CODE), got a list'],
  ['no user', signToken({ uid: '' }), 'TOKEN_CLAIMS', 'expected uid to be a string, got an empty string'],
  ['an address that is a number', signToken({ email: 7 }), 'TOKEN_CLAIMS', 'expected email to be a string, got number'],
  ['roles as a string', signToken({ roles: 'x' }), 'TOKEN_CLAIMS', 'expected roles to be a list of strings, got string'],
  [
    'no app id',
    signToken({ app_id: undefined }),
    'APP_MISMATCH',
    'expected app_code "billing" and some app_id, got "billing" and undefined',
  ],
  [
    'another app of this code',
    signToken({ app_id: OTHER_ID }),
    'APP_MISMATCH',
    `expected app_code "billing" and app_id "${CLAIMS.app_id}" (SERVICE_APP_ID or the feed), got "billing" and "${OTHER_ID}"`,
    { appId: CLAIMS.app_id },
  ],
  [
    'one that the app refuses',
    good,
    'TOKEN_REVOKED',
    'revocation.isCurrent did not return true',
    { revocation: { mode: 'custom', isCurrent: () => false } },
  ],
]

describe.each(['node', 'web'] as const)('hints on %s', (platform) => {
  test.each(hints)('the hint explains this fault: %s', async (_, token, code, hint, options = {}) => {
    const lines: string[] = []
    const auth = buildAuth({ ...options, logger: { warn: (line) => void lines.push(line) } }, platform)
    const { error } = await auth.safeVerify(token)
    expect(error).toMatchObject({ code, hint })
    // An error that is logged, or sent by mistake, shows no token.
    expect(inspect(error, { showHidden: true })).not.toMatch(/eyJ|CANARY/)
    expect(JSON.stringify(error)).not.toContain('expected')
    // A request without a token does not point to a fault.
    expect(lines).toEqual(code === 'TOKEN_MISSING' ? [] : [expect.stringContaining(`gatehouse: a token is refused, ${code}: `)])
    expect(lines.join()).not.toMatch(/eyJ|CANARY|\n/)
  })
})

test('each method that verifies logs a refusal, once for each code', async () => {
  const lines: string[] = []
  const auth = buildAuth({ logger: { warn: (line) => void lines.push(line) } })
  const forged = signToken({}, { kid: KID }, OTHER_SECRET)
  expect(() => auth.verifySync(forged)).toThrow()
  await auth.safeVerify(forged)
  await auth.verify(forged).catch(() => {})
  await auth.authenticate({ authorization: `Bearer ${signParts(encode({ alg: 'none' }), encode(CLAIMS))}` }).catch(() => {})
  await auth.verify(good)
  expect(lines.map((line) => line.slice(0, 46))).toEqual([
    'gatehouse: a token is refused, TOKEN_SIGNATURE',
    'gatehouse: a token is refused, TOKEN_ALG: expe',
  ])
})

test('lines go to the console by default, and nowhere if logger is false', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue()
  const usual = { appCode: 'billing', secret: SECRET, issuer: 'gatehouse', revocation: { mode: 'off' } } as const
  await createAuth({ ...usual, logger: false }).safeVerify('x')
  expect(warn).not.toHaveBeenCalled()
  await createAuth(usual).safeVerify('x')
  expect(warn).toHaveBeenCalledExactlyOnceWith(
    'gatehouse: a token is refused, TOKEN_MALFORMED: expected three base64url parts, got 1 in 1 characters',
  )
  warn.mockRestore()
})
