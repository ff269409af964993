import { hash, randomBytes } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { describe, expect, test } from 'vitest'
import { ConfigError, loadConfig, settings } from './config.ts'

const secret = 'k3Jx0vQ2nLr8TzYw5HcBpMdAfGsUeViO'
const key = Buffer.from('Qm7LxD4sVhT9pKzWc2RnYbGfJ6uEaXtM').toString('base64')
const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://login.example.com',
  DATABASE_URL: 'postgres://db.example.com/gatehouse',
  JWT_ACCESS_SECRET: secret,
  AUTH_ENCRYPTION_KEY: key,
  SMTP_URL: 'smtp://mail.example.com',
  MAIL_FROM: 'Acme <no-reply@example.com>',
  AUTH_TRUST_PROXY: '1',
}
const kept = (name: string) => (name === 'encryption-key' ? key : `kept ${secret}`)
const file = (path: string) => ({ text: `${path.slice(1)}\n`, isReadableByOthers: path.startsWith('!') })
const load = (environment: Record<string, string | undefined>) => loadConfig(environment, { kept, file })

function faultsOf(environment: Record<string, string | undefined>): readonly string[] {
  try {
    load(environment)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).faults
  }
}

const namesOf = (faults: readonly string[]) => faults.map((fault) => fault.split(' ')[0]).sort()

describe('default settings', () => {
  test('the defaults match the contract', () => {
    expect(load({})).toMatchObject({
      production: false,
      host: '127.0.0.1',
      port: 4000,
      publicUrl: 'http://localhost:4000',
      databaseUrl: 'sqlite:./.gatehouse/gatehouse.db',
      dbPoolMax: 10,
      dbAcquireTimeoutMs: 1_800,
      dbStatementTimeoutMs: 3_000,
      autoMigrate: true,
      accessSecret: `kept ${secret}`,
      issuer: 'gatehouse',
      accessTtlSeconds: 900,
      refreshTtlSeconds: 2_592_000,
      sessionMaxSeconds: 7_776_000,
      refreshLeewaySeconds: 10,
      defaultAppCode: undefined,
      allowBaseUserLogin: false,
      requireAppCode: true,
      clientOverrides: 'open',
      adminAppCodes: ['*'],
      bootstrapAdmin: undefined,
      bcryptCost: 12,
      passwordBlocklist: false,
      lockoutThreshold: 10,
      lockoutSeconds: 900,
      accountLimit: { count: 20, seconds: 300 },
      ipLimit: { count: 1_000, seconds: 60 },
      trustedProxies: 0,
      corsOrigins: ['*'],
      metricsToken: undefined,
      smtpUrl: undefined,
      mailFrom: 'no-reply@localhost',
      mailDir: '.gatehouse/mail',
      defaultFrontendUrl: 'http://localhost:4000',
      webhookAllowPrivate: true,
      ssoPrivateHosts: undefined,
      chatWebhookHosts: [],
      retentionDays: 90,
      auditRetentionDays: undefined,
      shutdownDelaySeconds: 0,
      logLevel: 'info',
      warnings: [],
    })
    expect(load({}).hashThreads).toBe(Math.min(4, availableParallelism()))
  })

  test('the defaults are stricter in production', () => {
    expect(load(production)).toMatchObject({
      production: true,
      publicUrl: 'https://login.example.com',
      accessSecret: secret,
      clientOverrides: 'declared',
      adminAppCodes: ['authctl'],
      passwordBlocklist: true,
      ipLimit: { count: 100, seconds: 60 },
      webhookAllowPrivate: false,
      ssoPrivateHosts: [],
      defaultFrontendUrl: 'https://login.example.com',
    })
  })

  test('settings override the defaults, in production too', () => {
    const set = {
      AUTH_CLIENT_OVERRIDES: 'open',
      AUTH_ADMIN_APP_CODES: 'console, authctl',
      AUTH_PASSWORD_BLOCKLIST: 'off',
      AUTH_RATE_LIMIT_IP: 'off',
      AUTH_WEBHOOK_ALLOW_PRIVATE: 'true',
      DB_ACQUIRE_TIMEOUT_MS: '100',
      DB_STATEMENT_TIMEOUT_MS: '60000',
    }
    expect(load({ ...production, ...set })).toMatchObject({
      clientOverrides: 'open',
      adminAppCodes: ['console', 'authctl'],
      passwordBlocklist: false,
      ipLimit: null,
      webhookAllowPrivate: true,
      dbAcquireTimeoutMs: 100,
      dbStatementTimeoutMs: 60_000,
    })
  })

  test('production never asks for a kept secret, whether or not the secret is set', () => {
    const never = () => expect.unreachable('asked for a kept secret')
    expect(loadConfig(production, { kept: never, file: never }).accessSecret).toBe(secret)
    expect(() => loadConfig({ NODE_ENV: 'production' }, { kept: never, file: never })).toThrow(ConfigError)
  })

  test('an empty variable counts as unset', () => {
    const blank = Object.fromEntries(Object.keys(settings.shape).map((name) => [name, '']))
    expect(load(blank)).toEqual(load({}))
  })

  test('variables that are not settings are ignored, and those that look like settings give a warning', () => {
    expect(load({ PATH: '/bin', AUTHCTL_TOKEN: 'x', __proto__: 'x' })).toEqual(load({}))
    const { warnings, ...config } = load({ AUTH_BCRYPTCOST: 'x', JWT_ISSUER_FILE: 'x', DB_: 'x', AUTH_EMPTY: '' })
    expect({ ...config, warnings: [] }).toEqual(load({}))
    expect(warnings.map((warning) => /^(\S+) .* (\S+)$/.exec(warning)?.slice(1))).toEqual([
      ['AUTH_BCRYPTCOST', 'AUTH_BCRYPT_COST'],
      ['JWT_ISSUER_FILE', 'JWT_ISSUER'],
      ['DB_', expect.any(String)],
    ])
  })
})

describe('AUTH_REQUIRE_APP_CODE', () => {
  test.each([
    [undefined, undefined, true],
    ['true', undefined, false],
    ['true', 'true', true],
    [undefined, 'false', false],
    ['false', undefined, true],
  ])('with AUTH_ALLOW_BASE_USER_LOGIN %s and itself %s, AUTH_REQUIRE_APP_CODE is %s', (base, require, expected) => {
    expect(load({ AUTH_ALLOW_BASE_USER_LOGIN: base, AUTH_REQUIRE_APP_CODE: require }).requireAppCode).toBe(expected)
  })
})

describe('faults in settings', () => {
  test('all faults are reported at once, one on each line', () => {
    const faults = faultsOf({
      NODE_ENV: 'production',
      PORT: 'x',
      JWT_ACCESS_TTL_SECONDS: '3601',
      AUTH_RATE_LIMIT_IP: 'many',
      LOG_LEVEL: 'loud',
      AUTH_BOOTSTRAP_ADMIN_EMAIL: 'a@example.com',
      DB_POOL_MAX: '0',
    })
    expect(namesOf(faults)).toEqual(
      [
        'AUTH_BOOTSTRAP_ADMIN_EMAIL',
        'AUTH_ENCRYPTION_KEY',
        'AUTH_RATE_LIMIT_IP',
        'DATABASE_URL',
        'DB_POOL_MAX',
        'JWT_ACCESS_SECRET',
        'JWT_ACCESS_TTL_SECONDS',
        'LOG_LEVEL',
        'PORT',
        'PUBLIC_URL',
        'SMTP_URL',
      ].sort(),
    )
    for (const fault of faults) expect(fault).not.toContain('\n')
  })

  test('a fault never repeats the value', () => {
    const value = 'Zq9-value-of-mine'
    const faults = Object.keys(settings.shape)
      .filter((name) => name !== 'NODE_ENV')
      .flatMap((name) => faultsOf({ [name]: value }))
    expect(faults.length).toBeGreaterThan(20)
    expect(faults.join('\n')).not.toContain(value)
    const short = faultsOf({
      JWT_ACCESS_SECRET: value,
      JWT_ACCESS_SECRET_PREVIOUS: value,
      AUTH_ENCRYPTION_KEY: value,
      AUTH_METRICS_TOKEN: 'x9',
      DATABASE_URL: `mysql://u:${value}@h/d`,
      SMTP_URL: `http://u:${value}@h`,
    })
    expect(namesOf(short)).toEqual(
      expect.arrayContaining(['AUTH_ENCRYPTION_KEY', 'AUTH_METRICS_TOKEN', 'DATABASE_URL', 'JWT_ACCESS_SECRET', 'SMTP_URL']),
    )
    expect(short.join('\n')).not.toMatch(/Zq9|x9/)
  })

  // covers limit-secret
  test.each<[string, string[]]>([
    ['PORT', ['-1', '65536', '1.5', '0x50', 'http', ' 80', '1e3']],
    ['DB_POOL_MAX', ['0', '1001', '-5']],
    ['DB_ACQUIRE_TIMEOUT_MS', ['0', '99', '60001', '1.8', '2s']],
    ['DB_STATEMENT_TIMEOUT_MS', ['0', '99', '60001', '3e3', 'off']],
    ['AUTH_HASH_THREADS', ['0', '65', 'all']],
    ['AUTH_AUTO_MIGRATE', ['yes', 'TRUE!', 'null']],
    ['JWT_ACCESS_SECRET', ['short', 'x'.repeat(31)]],
    ['AUTH_ENCRYPTION_KEY', ['short', Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'), 'ab'.repeat(32)]],
    ['JWT_ACCESS_TTL_SECONDS', ['0', '3601', '-1', '900s']],
    ['AUTH_RATE_LIMIT_ACCOUNT', ['0/60', '5/0', '5', '/5', '-1/60', '5/60/2', 'OFF', '5 / 60']],
    ['AUTH_CLIENT_OVERRIDES', ['closed', 'Open']],
    ['AUTH_BCRYPT_COST', ['9', '16', '3']],
    ['AUTH_TRUST_PROXY', ['true', '-1', '21']],
    ['AUTH_SSO_PRIVATE_HOSTS', ['*', 'https://id.corp', 'id.corp:443', 'id.corp/x', 'a b', '*.corp', 'x@id.corp', '[::1']],
    ['PUBLIC_URL', ['login.example.com', 'ftp://x', 'javascript:x']],
    ['SMTP_URL', ['mail.example.com', 'http://mail.example.com']],
    ['MAIL_FROM', ['nobody', 'Acme', 'a@b, c@d <e@f', 'Acme <a@b> x', 'a@b\r\nBcc: c@d', 'Acme\n <a@b>']],
    ['DATABASE_URL', ['mysql://x', 'sqlite:', './file.db']],
    ['LOG_LEVEL', ['verbose', 'INFO']],
  ])('%s refuses invalid values', (name, values) => {
    for (const value of values) expect(namesOf(faultsOf({ [name]: value })), value).toEqual([name])
  })

  test('the cost of bcrypt may be low only in tests', () => {
    expect(load({ NODE_ENV: 'test', AUTH_BCRYPT_COST: '4' }).bcryptCost).toBe(4)
    for (const mode of ['production', 'development', undefined])
      expect(namesOf(faultsOf({ ...production, NODE_ENV: mode, AUTH_BCRYPT_COST: '9' }))).toEqual(['AUTH_BCRYPT_COST'])
  })

  test.each(['x'.repeat(64), 'password-password-password-password', 'change-me-change-me-change-me-change-me', ` ${secret}`])(
    'production refuses a signing secret like %s, but accepts it as the previous secret',
    (weak) => {
      expect(namesOf(faultsOf({ ...production, JWT_ACCESS_SECRET: weak }))).toEqual(['JWT_ACCESS_SECRET'])
      expect(faultsOf({ ...production, JWT_ACCESS_SECRET_PREVIOUS: weak })).toEqual([])
      expect(faultsOf({ JWT_ACCESS_SECRET: weak })).toEqual([])
    },
  )

  test('AUTH_ALLOW_WEAK_SECRET turns only the fault of a guessable secret into a warning', () => {
    const allow = { ...production, AUTH_ALLOW_WEAK_SECRET: 'true' }
    expect(load({ ...allow, JWT_ACCESS_SECRET: 'x'.repeat(64) }).warnings).toEqual([expect.stringMatching(/^JWT_ACCESS_SECRET /)])
    expect(load(allow).warnings).toEqual([])
    for (const refused of ['change-me-change-me-change-me-change-me', `${secret} `])
      expect(namesOf(faultsOf({ ...allow, JWT_ACCESS_SECRET: refused }))).toEqual(['JWT_ACCESS_SECRET'])
  })

  test.each<[string, Record<string, string>, string[]]>([
    ['mails from localhost', { MAIL_FROM: '' }, ['MAIL_FROM']],
    ['mails from a named sender at localhost', { MAIL_FROM: 'Acme <login@LOCALHOST>' }, ['MAIL_FROM']],
    ['a proxy for https that is not trusted', { AUTH_TRUST_PROXY: '' }, ['AUTH_TRUST_PROXY']],
    ['passwords in transit without TLS', { PUBLIC_URL: 'http://login.example.com', AUTH_TRUST_PROXY: '0' }, ['PUBLIC_URL']],
    ['nothing on this machine', { PUBLIC_URL: 'http://localhost:4000', AUTH_TRUST_PROXY: '0' }, []],
    ['nothing in sound settings', {}, []],
  ])('production warns about %s', (_, doubtful, expected) => {
    expect(namesOf(load({ ...production, ...doubtful }).warnings)).toEqual(expected)
    expect(load({ ...production, NODE_ENV: 'development', ...doubtful }).warnings).toEqual([])
  })

  test('a random secret passes at any length, and only the first hundred characters are judged', () => {
    for (let round = 0; round < 3; round += 1) {
      for (const random of [
        randomBytes(24).toString('base64url'),
        randomBytes(16).toString('hex'),
        randomBytes(900).toString('hex'),
      ])
        expect(faultsOf({ ...production, JWT_ACCESS_SECRET: random })).toEqual([])
    }
    expect(faultsOf({ ...production, JWT_ACCESS_SECRET: `${'x'.repeat(100)}${secret}` })).toHaveLength(1)
  })

  test.each<[string, Buffer]>([
    ['one repeated byte', Buffer.alloc(32, 255)],
    ['the signing secret', Buffer.from(secret)],
    ['the digest of the signing secret', hash('sha256', secret, 'buffer')],
    ['the digest of the previous signing secret', hash('sha256', `previous ${secret}`, 'buffer')],
  ])('production refuses an encryption key that is %s', (_, bytes) => {
    const settings = { JWT_ACCESS_SECRET_PREVIOUS: `previous ${secret}`, AUTH_ENCRYPTION_KEY: bytes.toString('base64') }
    expect(namesOf(faultsOf({ ...production, ...settings }))).toEqual(['AUTH_ENCRYPTION_KEY'])
    expect(faultsOf(settings)).toEqual([])
  })

  test('production refuses an encryption key that equals the signing secret in base64 or hex', () => {
    const bytes = randomBytes(32)
    for (const text of [bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]) {
      const settings = { JWT_ACCESS_SECRET: text, AUTH_ENCRYPTION_KEY: bytes.toString('base64') }
      expect(namesOf(faultsOf({ ...production, ...settings }))).toEqual(['AUTH_ENCRYPTION_KEY'])
    }
  })

  test('the two secrets of a rotation must differ, and the first admin needs both address and password', () => {
    expect(namesOf(faultsOf({ JWT_ACCESS_SECRET: secret, JWT_ACCESS_SECRET_PREVIOUS: secret }))).toEqual([
      'JWT_ACCESS_SECRET_PREVIOUS',
    ])
    expect(faultsOf({ AUTH_BOOTSTRAP_ADMIN_EMAIL: 'a@example.com' })).toHaveLength(1)
    expect(faultsOf({ AUTH_BOOTSTRAP_ADMIN_PASSWORD: 'x' })).toHaveLength(1)
    expect(load({ AUTH_BOOTSTRAP_ADMIN_EMAIL: 'a@example.com', AUTH_BOOTSTRAP_ADMIN_PASSWORD: 'x' }).bootstrapAdmin).toEqual({
      email: 'a@example.com',
      password: 'x',
    })
  })
})

describe('a secret from a file', () => {
  const { JWT_ACCESS_SECRET: _, ...others } = production

  test('a secret from a file loses its last line break, and is judged like any other', () => {
    const config = load({ ...others, JWT_ACCESS_SECRET_FILE: `/${secret}`, AUTH_METRICS_TOKEN_FILE: '!the token of a scraper' })
    expect([config.accessSecret, config.metricsToken]).toEqual([secret, 'the token of a scraper'])
    expect(config.warnings).toEqual([expect.stringMatching(/^AUTH_METRICS_TOKEN_FILE /)])
    expect(namesOf(faultsOf({ ...others, JWT_ACCESS_SECRET_FILE: '/short' }))).toEqual(['JWT_ACCESS_SECRET'])
    expect(namesOf(faultsOf({ ...others, JWT_ACCESS_SECRET_FILE: '/' }))).toEqual(['JWT_ACCESS_SECRET_FILE'])
  })

  test('a secret from a file together with its variable is a fault, unless one of the two is empty', () => {
    const both = { ...production, JWT_ACCESS_SECRET_FILE: `/${secret}` }
    expect(namesOf(faultsOf(both))).toEqual(['JWT_ACCESS_SECRET'])
    expect(faultsOf({ ...both, JWT_ACCESS_SECRET: '' })).toEqual([])
    expect(faultsOf({ ...production, JWT_ACCESS_SECRET_FILE: '' })).toEqual([])
  })
})

test('addresses lose their final slash, and links and lists are read as given', () => {
  const config = load({
    PUBLIC_URL: 'https://login.example.com/',
    AUTH_DEFAULT_FRONTEND_URL: 'https://app.example.com//',
    AUTH_CORS_ORIGINS: ' https://a.example ,, https://b.example',
    AUTH_SSO_PRIVATE_HOSTS: 'ID.corp.internal, 10.0.0.5, ::1, [FD00::1]',
    HOST: '::1',
    PORT: '0',
  })
  expect(config).toMatchObject({
    publicUrl: 'https://login.example.com',
    defaultFrontendUrl: 'https://app.example.com',
    corsOrigins: ['https://a.example', 'https://b.example'],
    ssoPrivateHosts: ['id.corp.internal', '10.0.0.5', '::1', 'fd00::1'],
  })
  for (const HOST of ['::1', '0.0.0.0']) expect(load({ HOST, PORT: '4001' }).publicUrl).toBe('http://localhost:4001')
})

test('the encryption keys of a rotation are the current one, then the previous one', () => {
  const previous = Buffer.alloc(32, 2).toString('base64')
  expect(load({ AUTH_ENCRYPTION_KEY: key, AUTH_ENCRYPTION_KEY_PREVIOUS: previous }).encryptionKeys).toEqual([
    Buffer.from(key, 'base64'),
    Buffer.from(previous, 'base64'),
  ])
})
