import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type AuthError, type AuthOptions, createAuth } from './index.ts'
import { buildAuth, CLAIMS, createKid, NOW, PREVIOUS_SECRET, SECRET, signToken } from './test-tokens.ts'

const variables = [
  'SERVICE_AUTH_URL',
  'SERVICE_APP_CODE',
  'SERVICE_APP_ID',
  'SERVICE_ACCOUNT_TOKEN',
  'JWT_ACCESS_SECRET',
  'JWT_ACCESS_SECRET_PREVIOUS',
  'JWT_ISSUER',
]

beforeEach(() => {
  for (const name of variables) vi.stubEnv(name, undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const now = () => NOW * 1000
const revocation = { mode: 'off' } as const

describe('createAuth', () => {
  // covers service-consumer-settings
  test('createAuth reads missing options from the environment', async () => {
    vi.stubEnv('SERVICE_AUTH_URL', 'https://auth.example.com/api/v1')
    vi.stubEnv('SERVICE_APP_CODE', 'shop')
    vi.stubEnv('SERVICE_APP_ID', 'app-9')
    vi.stubEnv('JWT_ACCESS_SECRET', SECRET)
    vi.stubEnv('JWT_ACCESS_SECRET_PREVIOUS', PREVIOUS_SECRET)
    vi.stubEnv('JWT_ISSUER', 'house')
    const auth = createAuth({ now, revocation })
    const claims = { aud: 'shop', app_code: 'shop', app_id: 'app-9', iss: 'house' }
    expect((await auth.verify(signToken(claims))).userId).toBe(CLAIMS.uid)
    expect((await auth.verify(signToken(claims, {}, PREVIOUS_SECRET))).userId).toBe(CLAIMS.uid)
    await expect(auth.verify(signToken({ ...claims, app_id: 'app-8' }))).rejects.toMatchObject({ code: 'APP_MISMATCH' })
    expect(auth.health().kids).toEqual([createKid(SECRET), createKid(PREVIOUS_SECRET)])
  })

  test('an option wins over the environment, and a secret from code is never paired with one from the environment', () => {
    vi.stubEnv('SERVICE_APP_CODE', 'shop')
    vi.stubEnv('JWT_ACCESS_SECRET', PREVIOUS_SECRET)
    vi.stubEnv('JWT_ACCESS_SECRET_PREVIOUS', PREVIOUS_SECRET)
    const auth = createAuth({ appCode: 'billing', secret: SECRET, now, revocation })
    expect(auth.verifySync(signToken()).userId).toBe(CLAIMS.uid)
    expect(auth.health().kids).toEqual([createKid(SECRET)])
  })

  test('createAuth treats an empty variable as unset', () => {
    vi.stubEnv('JWT_ACCESS_SECRET_PREVIOUS', '')
    vi.stubEnv('JWT_ISSUER', '')
    expect(createAuth({ appCode: 'billing', secret: SECRET, now, revocation }).verifySync(signToken()).userId).toBe(CLAIMS.uid)
  })

  const good: AuthOptions = { appCode: 'billing', secret: SECRET, revocation }
  // covers service-secret-length
  test.each<[string, object, RegExp]>([
    ['no app code', { secret: SECRET }, /SERVICE_APP_CODE/],
    ['an empty app code', { ...good, appCode: '' }, /SERVICE_APP_CODE/],
    ['a blank behind the app code', { ...good, appCode: 'billing ' }, /SERVICE_APP_CODE/],
    ['an empty app id', { ...good, appId: '' }, /SERVICE_APP_ID/],
    ['no secret', { appCode: 'billing' }, /JWT_ACCESS_SECRET /],
    ['a secret of 31 characters', { ...good, secret: 's'.repeat(31) }, /JWT_ACCESS_SECRET .*32/],
    ['a secret that is not a string', { ...good, secret: 5 }, /JWT_ACCESS_SECRET /],
    ['a short previous secret', { ...good, secret: [SECRET, 'short'] }, /JWT_ACCESS_SECRET_PREVIOUS/],
    ['three secrets', { ...good, secret: [SECRET, SECRET, SECRET] }, /JWT_ACCESS_SECRET /],
    ['an empty list of secrets', { ...good, secret: [] }, /JWT_ACCESS_SECRET /],
    ['an empty issuer', { ...good, issuer: '' }, /JWT_ISSUER/],
    ['an address that is not a URL', { ...good, authUrl: 'auth.example.com' }, /SERVICE_AUTH_URL/],
    ['an address of another scheme', { ...good, authUrl: 'ftp://auth.example.com' }, /SERVICE_AUTH_URL/],
    ['no address for the feed', { appCode: 'billing', secret: SECRET, revocation: { mode: 'feed' } }, /SERVICE_AUTH_URL/],
    ['an address of a URL without a host', { ...good, authUrl: 'https://' }, /SERVICE_AUTH_URL/],
    ['an address of a URL with half a host', { ...good, authUrl: 'https://[::' }, /SERVICE_AUTH_URL/],
    ['an address that is not text', { ...good, authUrl: 5 }, /SERVICE_AUTH_URL/],
    ['a service token with a line break', { ...good, serviceToken: 'gsa_x\n' }, /SERVICE_ACCOUNT_TOKEN/],
    ['a negative cacheTokens', { ...good, cacheTokens: -1 }, /cacheTokens/],
    ['an unknown onStale', { ...good, revocation: { mode: 'feed', onStale: 'refuse' } }, /revocation/],
    ['a maxStaleSec of nothing', { ...good, revocation: { mode: 'feed', maxStaleSec: 0 } }, /revocation/],
    ['a maxStaleSec that is not a number', { ...good, revocation: { mode: 'feed', maxStaleSec: '60' } }, /revocation/],
    ['a negative tolerance', { ...good, clockToleranceSec: -1 }, /clockToleranceSec/],
    ['a tolerance above a minute', { ...good, clockToleranceSec: 61 }, /clockToleranceSec/],
    ['a tolerance that is not a number', { ...good, clockToleranceSec: Number.NaN }, /clockToleranceSec/],
    ['a tolerance that is a text', { ...good, clockToleranceSec: '5' }, /clockToleranceSec/],
    ['a size limit of nothing', { ...good, maxTokenBytes: 0 }, /maxTokenBytes/],
    ['a size limit without end', { ...good, maxTokenBytes: Number.POSITIVE_INFINITY }, /maxTokenBytes/],
    ['an unknown revocation mode', { ...good, revocation: { mode: 'none' } }, /revocation/],
    ['a revocation that is a text', { ...good, revocation: 'off' }, /revocation/],
    ['an unknown option', { ...good, onstale: 'deny' }, /: onstale is not an option$/],
    [
      'an unknown option of revocation',
      { ...good, revocation: { mode: 'feed', onstale: 'deny' } },
      /revocation[.]onstale is not an option/,
    ],
    ['an unknown check', { ...good, check: 'maybe' }, /check must be exit or warn or off/],
    ['a check without an address', { ...good, check: 'exit' }, /SERVICE_AUTH_URL is missing/],
    ['a logger that takes no lines', { ...good, logger: {} }, /logger must/],
    ['an onEvent that is not a function', { ...good, onEvent: 'log' }, /onEvent must/],
    ['permissions that are a word', { ...good, permissions: 'invoices:read' }, /permissions must be an object/],
    [
      'an address with a password',
      { ...good, authUrl: 'https://me:CANARY@auth.example.com' },
      /^invalid settings: SERVICE_AUTH_URL must be https:\/\/… or http:\/\/…, without @$/,
    ],
    ['a custom revocation without its function', { ...good, revocation: { mode: 'custom' } }, /revocation/],
  ])('createAuth refuses %s and names the variable', (_, options, message) => {
    expect(() => createAuth(options)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) }),
    )
  })

  const settings = { appCode: 'billing', secret: SECRET }
  const unfed = "revoked tokens are accepted until they expire; if you mean that, pass revocation: { mode: 'off' }"
  const start = (options: AuthOptions) => {
    const lines: string[] = []
    const auth = createAuth({ ...settings, logger: { warn: (line) => void lines.push(line) }, ...options })
    onTestFinished(() => auth.close())
    return { auth, lines }
  }
  const linesOf = (options: AuthOptions) => {
    const { auth, lines } = start(options)
    return [auth.health().revocation.mode, ...lines]
  }

  test('createAuth follows revocations if it has an address, and otherwise logs that it does not', () => {
    expect(linesOf({ authUrl: 'http://127.0.0.1:9' })).toEqual(['feed'])
    expect(linesOf({})).toEqual(['off', `gatehouse: SERVICE_AUTH_URL is missing: ${unfed}`])
    expect(linesOf({ revocation })).toEqual(['off'])
    expect(linesOf({ revocation: { mode: 'custom', isCurrent: () => true } })).toEqual(['custom'])
  })

  test('createAuth needs the address in production, unless revocation is turned off explicitly', () => {
    vi.stubEnv('NODE_ENV', 'production')
    const message = `invalid settings: SERVICE_AUTH_URL is missing: ${unfed}`
    expect(() => createAuth(settings)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message }))
    expect(linesOf({ revocation })).toEqual(['off'])
    expect(linesOf({ authUrl: 'http://127.0.0.1:9', check: 'off' })).toEqual(['feed'])
  })

  test.each([
    ['SERVICE_AUTH_ULR', 'SERVICE_AUTH_URL'],
    ['SERVICE_AUTHURL', 'SERVICE_AUTH_URL'],
    ['SERVICE_AUTH_URI', 'SERVICE_AUTH_URL'],
    ['SERVICE_APP_ID_', 'SERVICE_APP_ID'],
    ['service_app_di', 'SERVICE_APP_ID'],
    ['SERVICE_ACOUNT_TOKEN', 'SERVICE_ACCOUNT_TOKEN'],
  ])('createAuth reports %s as a likely misspelling of %s', async (typo, name) => {
    vi.stubEnv(typo, 'CANARY')
    const said = `${name} is missing, but ${typo} is set`
    const unmet = name === 'SERVICE_AUTH_URL' ? `${said}: ${unfed}` : said
    const authUrl = name === 'SERVICE_AUTH_URL' ? {} : { authUrl: 'http://127.0.0.1:9' }
    const { lines } = start(authUrl)
    await expect.poll(() => lines).toContain(`gatehouse: ${unmet}`)
    vi.stubEnv('NODE_ENV', 'production')
    if (name === 'SERVICE_AUTH_URL') expect(() => createAuth(settings)).toThrow(`invalid settings: ${unmet}`)
    vi.stubEnv(name, name === 'SERVICE_AUTH_URL' ? 'http://127.0.0.1:9' : 'x')
    const again = start({ ...authUrl, check: 'off' })
    await vi.dynamicImportSettled()
    expect(again.lines.join()).not.toContain(name)
  })

  test('createAuth does not report variables of other programs as misspelt', () => {
    for (const name of ['SERVICE_AUTH_PORT', 'SERVICE_URL', 'SERVICE_APP_NAME', 'MY_SERVICE_APP_ID', 'SERVICE_TOKEN'])
      vi.stubEnv(name, 'x')
    expect(linesOf({ revocation })).toEqual(['off'])
  })

  test('the error of createAuth suggests lazy and --env-file only if nothing is set', () => {
    const unread = ': pass lazy: true, or node --env-file=.env'
    expect(() => createAuth()).toThrow(unread)
    for (const known of [{ secret: SECRET }, { appCode: 'billing' }])
      expect(() => createAuth(known)).toThrow(expect.objectContaining({ message: expect.not.stringContaining(unread) }))
  })

  test('createAuth names all faults in one error and quotes no secret', () => {
    const secret = 'a short secret'
    try {
      createAuth({ secret, authUrl: 'nowhere', ...({ onEvents: () => {} } as object) })
      expect.unreachable()
    } catch (error) {
      const printed = inspect(error, { showHidden: true })
      const { message } = error as Error
      expect(message).toBe(
        'invalid settings: SERVICE_APP_CODE is missing; SERVICE_AUTH_URL must be https://… or http://…, without @; ' +
          'JWT_ACCESS_SECRET must have 32 characters or more, has 14; onEvents is not an option',
      )
      expect((error as AuthError).hint).toBe(message)
      expect(printed).not.toContain(secret)
    }
  })

  test('a printed auth or principal shows no secret and no token', async () => {
    const auth = createAuth({ ...good, now })
    const principal = await auth.verify(signToken())
    const printed = inspect([auth, principal], { depth: null, showHidden: true }) + JSON.stringify([auth, principal])
    expect(printed).not.toContain(SECRET)
    expect(printed).not.toContain(CLAIMS.email)
    expect(printed).not.toContain(CLAIMS.jti)
  })
})

describe('safeVerify', () => {
  test('safeVerify returns the principal or the error, and does not throw', async () => {
    const auth = buildAuth()
    expect(await auth.safeVerify(signToken())).toMatchObject({ ok: true, principal: { userId: CLAIMS.uid } })
    expect(await auth.safeVerify(signToken({ exp: 1 }))).toMatchObject({ ok: false, error: { code: 'TOKEN_EXPIRED' } })
  })
})

describe('authenticate', () => {
  const auth = buildAuth()
  const token = signToken()

  test.each<[string, Parameters<typeof auth.authenticate>[0]]>([
    ["Node's headers", { authorization: `Bearer ${token}` }],
    ['a plain object in the usual spelling', { Authorization: `Bearer ${token}` }],
    ['a Headers object', new Headers({ authorization: `Bearer ${token}` })],
    ['a scheme in small letters', { authorization: `bearer ${token}` }],
    ['several blanks', { authorization: `  BEARER   ${token}  ` }],
    ['a list of one', { authorization: [`Bearer ${token}`] }],
  ])('authenticate reads %s', async (_, headers) => {
    expect((await auth.authenticate(headers)).userId).toBe(CLAIMS.uid)
  })

  test.each<[string, Parameters<typeof auth.authenticate>[0], string]>([
    ['no header', {}, 'TOKEN_MISSING'],
    ['an empty Headers', new Headers(), 'TOKEN_MISSING'],
    ['another scheme', { authorization: `Basic ${token}` }, 'TOKEN_MISSING'],
    ['a scheme that only begins like bearer', { authorization: `Bearerx ${token}` }, 'TOKEN_MISSING'],
    ['a token without a scheme', { authorization: token }, 'TOKEN_MISSING'],
    ['a scheme without a token', { authorization: 'Bearer ' }, 'TOKEN_MISSING'],
    ['two tokens', { authorization: `Bearer ${token} ${token}` }, 'TOKEN_MALFORMED'],
    ['two headers', { authorization: [`Bearer ${token}`, `Bearer ${token}`] }, 'TOKEN_MALFORMED'],
    ['two headers that were joined', { authorization: `Bearer ${token}, Bearer ${token}` }, 'TOKEN_MALFORMED'],
    ['a token behind a line break', { authorization: `Bearer \n${token}` }, 'TOKEN_MALFORMED'],
  ])('authenticate refuses %s', async (_, headers, code) => {
    await expect(auth.authenticate(headers)).rejects.toMatchObject({ code })
  })
})

describe('custom revocation', () => {
  const custom = (isCurrent: (claims: object) => unknown) => ({ revocation: { mode: 'custom', isCurrent } }) as AuthOptions

  test('isCurrent is called last, with frozen claims, and only for a valid token', async () => {
    const asked: object[] = []
    const auth = buildAuth(custom((claims) => asked.push(claims) > 0))
    await auth.verify(signToken())
    await auth.safeVerify(signToken({ exp: 1 }))
    expect(asked).toEqual([CLAIMS])
    expect(Object.isFrozen(asked[0])).toBe(true)
  })

  test.each([false, undefined, 1, 'true', null])('a token is refused if isCurrent returns %j', async (answer) => {
    await expect(buildAuth(custom(async () => answer)).verify(signToken())).rejects.toMatchObject({ code: 'TOKEN_REVOKED' })
  })

  test('a token is answered 503 if isCurrent throws, and the error keeps no claims', async () => {
    const fails = custom((claims) => {
      throw new TypeError(`cannot find ${JSON.stringify(claims)}`)
    })
    for (const verify of [
      async () => buildAuth(fails).verify(signToken()),
      async () => buildAuth(fails).verifySync(signToken()),
    ]) {
      const error = await verify().catch((thrown: unknown) => thrown)
      expect(error).toMatchObject({
        code: 'REVOCATION_UNAVAILABLE',
        status: 503,
        retryable: true,
        headers: { 'Retry-After': '1' },
      })
      expect(inspect(error, { showHidden: true })).not.toContain(CLAIMS.uid)
    }
  })

  test('verifySync accepts a synchronous isCurrent and throws CONFIG_INVALID for an asynchronous one', () => {
    expect(buildAuth(custom(() => true)).verifySync(signToken()).userId).toBe(CLAIMS.uid)
    expect(() => buildAuth(custom(() => false)).verifySync(signToken())).toThrow(
      expect.objectContaining({ code: 'TOKEN_REVOKED' }),
    )
    for (const isCurrent of [async () => true, () => Promise.reject(new Error('late'))]) {
      const auth = buildAuth(custom(isCurrent))
      expect(() => auth.verifySync(signToken())).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
    }
  })
})

describe('a token without its scheme', () => {
  const headers = (authorization: string) => ({ authorization })
  const told = 'expected Authorization: Bearer <token>, got a token without "Bearer"'

  test.each([
    ['the token alone', (token: string) => token],
    ['a scheme of another framework', (token: string) => `Token ${token}`],
  ])('a token without the scheme Bearer is refused and logged, and the hint names the scheme: %s', async (_, write) => {
    const lines: string[] = []
    const auth = buildAuth({ logger: { warn: (line) => void lines.push(line) } })
    const refusal = auth.authenticate(headers(write(signToken())))
    await expect(refusal).rejects.toMatchObject({ code: 'TOKEN_MISSING', status: 401, hint: told })
    expect(lines).toEqual([`gatehouse: a token is refused, TOKEN_MISSING: ${told}`])
  })

  test.each([
    ['no header', {}],
    ['an empty header', headers('')],
    ['the scheme alone', headers('Bearer')],
    ['another scheme', headers('Basic YTpi')],
    ['two headers', { authorization: ['Basic YTpi', `Bearer ${signToken()}`] }],
  ])('a request with %s is refused without a log line', async (_, given) => {
    const lines: string[] = []
    const auth = buildAuth({ logger: { warn: (line) => void lines.push(line) } })
    const hint = 'expected Authorization: Bearer <token>'
    await expect(auth.authenticate(given)).rejects.toMatchObject({ code: 'TOKEN_MISSING', hint })
    expect(lines).toEqual([])
  })
})

describe('auth through WebCrypto', () => {
  test('verifySync through WebCrypto throws and says that it needs Node', () => {
    expect(() => buildAuth({}, 'web').verifySync(signToken())).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  })

  test('health lists the key ids of the secrets after the first token', async () => {
    const auth = buildAuth({}, 'web')
    expect(auth.health().kids).toEqual([])
    await auth.safeVerify('not a token')
    expect(auth.health().kids).toEqual([createKid(SECRET)])
  })
})

test('health shows what runs, and close can be called twice', async () => {
  const auth = buildAuth()
  const kids = [createKid(SECRET)]
  expect(auth.health()).toEqual({ registration: 'off', revocation: { mode: 'off', connected: false, ageSec: null }, kids })
  await auth.close()
  await auth.close()
  expect(auth.verifySync(signToken()).userId).toBe(CLAIMS.uid)
})
