import { isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { DEFAULT_ISSUER, MIN_SECRET_CHARACTERS } from '@gatehouse/sdk/protocol'
import { closest } from 'fastest-levenshtein'
import { z } from 'zod'
import { faultOfDatabaseUrl } from './lib/database.ts'
import type { AttemptLimit } from './lib/rate-limit.ts'
import { isGuessable, isMadeOf } from './lib/secrets.ts'

const documentedSamples = new Set(['change-me-change-me-change-me-change-me', 'your-256-bit-secret-your-256-bit-secret'])
const defaultDatabaseUrl = 'sqlite:./.gatehouse/gatehouse.db'

const flag = z.stringbool({ truthy: ['true', '1'], falsy: ['false', '0'], error: 'must be true or false' })

function whole(minimum: number, maximum: number) {
  const message = `must be a whole number from ${minimum} to ${maximum}`
  return z
    .string()
    .regex(/^\d{1,12}$/, message)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, message)
}

const limit = z
  .string()
  .regex(/^(off|[1-9]\d{0,8}\/[1-9]\d{0,6})$/, 'must be COUNT/SECONDS or off')
  .transform((text): AttemptLimit | null => {
    if (text === 'off') return null
    const [count = 0, seconds = 0] = text.split('/').map(Number)
    return { count, seconds }
  })

const webUrl = z.string().refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), 'must be an http or https URL')
const originUrl = webUrl.transform((text) => text.replace(/\/+$/, ''))

const secret = z.string().min(MIN_SECRET_CHARACTERS, `must have at least ${MIN_SECRET_CHARACTERS} characters`)
const encryptionKey = z
  .string()
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((key) => key.length === 32, 'must be 32 bytes in base64 (openssl rand -base64 32)')

const sender = z
  .string()
  .max(320)
  .regex(
    /^(?:[^<>\p{Cc}]*<[^<>@\s]+@[^<>@\s]+>|[^<>@\s]+@[^<>@\s]+)$/u,
    'must be an e-mail address, optionally with a name: Name <address>',
  )

const databaseUrl = z.string().superRefine((url, context) => {
  const message = faultOfDatabaseUrl(url)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})

function list(separator = ','): z.ZodType<string[], string> {
  return z.string().transform((text) =>
    text
      .split(separator)
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
  )
}

/** As browsers send them: scheme, host and port, without a final slash. */
const origins = list().refine(
  (entries) => entries.every((entry) => entry === '*' || URL.parse(entry)?.origin === entry),
  'must be origins like https://app.example.com, or *',
)

/** Host names and IP addresses without brackets, as a URL parser normalizes them. */
const hosts = list().transform((entries, context) =>
  entries.map((entry) => {
    const host = URL.parse(`http://${isIPv6(entry) ? `[${entry}]` : entry}`)
    const name = host?.hostname.replace(/^\[|\]$/g, '') ?? ''
    if (host?.href === `http://${host?.hostname}/` && (isIPv6(name) || /^[a-z0-9._-]+$/.test(name))) return name
    context.addIssue({
      code: 'custom',
      message: 'must be hosts like id.corp.internal or 10.0.0.5, without a scheme, a port or *',
    })
    return z.NEVER
  }),
)

/**
 * What docs/reference/configuration.md says about a setting that is not set. `inProduction` is for a production default that
 * differs.
 */
export interface SettingNotes {
  default?: string
  inProduction?: string
  /** The value can come from a file instead: the variable with `_FILE` appended to its name holds the path. */
  secret?: boolean
}

/** An optional setting. Its default, if it has one, is computed later; `notes` describes it in words. */
function setting<T extends z.ZodType>(schema: T, description: string, notes: SettingNotes = {}) {
  return schema.optional().meta({ description, ...notes })
}

/** A setting with the default `usual`, written as an operator would type it. */
function withDefault<Output>(schema: z.ZodType<Output, string>, description: string, usual: string, inProduction?: string) {
  return schema.prefault(usual).meta({ description, default: usual, ...(inProduction === undefined ? {} : { inProduction }) })
}

/** Every setting, in the order in which docs/reference/configuration.md lists them. */
export const settings = z.object({
  NODE_ENV: withDefault(z.string(), '`production` enables production mode', 'development'),
  HOST: withDefault(z.string(), 'Address to listen on', '127.0.0.1'),
  PORT: withDefault(whole(0, 65_535), 'Port to listen on; 0 picks a free one', '4000'),
  PUBLIC_URL: setting(
    originUrl,
    'Public address of the service; links are never built from the Host header. With a path, the sign-in page is off',
    {
      default: '`http://localhost:PORT`',
      inProduction: 'required',
    },
  ),
  DATABASE_URL: setting(
    databaseUrl,
    '`sqlite:PATH` (one server; short commands may run at the same time) or `postgres://…`. With several hosts, `postgres://a:5432,b:5432/db`, the one that accepts writes is used',
    {
      default: defaultDatabaseUrl,
      inProduction: 'required',
      secret: true,
    },
  ),
  DB_POOL_MAX: withDefault(whole(1, 1_000), 'Maximum number of Postgres connections; 1 is enough to run', '10'),
  DB_ACQUIRE_TIMEOUT_MS: withDefault(
    whole(100, 60_000),
    'How long a request waits for a database connection before it fails with 503',
    '1800',
  ),
  DB_STATEMENT_TIMEOUT_MS: withDefault(
    whole(100, 60_000),
    'Postgres: how long a statement may run before the request fails with 503. A transaction may be idle for two thirds of that',
    '3000',
  ),
  AUTH_AUTO_MIGRATE: withDefault(flag, 'Whether `serve` migrates a Postgres database. It always migrates an SQLite one', 'true'),
  JWT_ACCESS_SECRET: setting(secret, 'Signs access tokens; shared with every consumer backend. At least 32 characters', {
    default: 'a random one kept in `.gatehouse/`',
    inProduction: 'required',
    secret: true,
  }),
  JWT_ACCESS_SECRET_PREVIOUS: setting(secret, 'The previous secret, accepted while the secret is being rotated', {
    secret: true,
  }),
  AUTH_ALLOW_WEAK_SECRET: withDefault(
    flag,
    'Whether production starts with a JWT_ACCESS_SECRET that can be guessed, with a warning',
    'false',
  ),
  AUTH_ENCRYPTION_KEY: setting(
    encryptionKey,
    'Encrypts second factors, webhook secrets and provider secrets. 32 bytes in base64',
    {
      default: 'a random one kept in `.gatehouse/`',
      inProduction: 'required',
      secret: true,
    },
  ),
  AUTH_ENCRYPTION_KEY_PREVIOUS: setting(encryptionKey, 'The previous key, which still decrypts what was encrypted with it', {
    secret: true,
  }),
  JWT_ISSUER: withDefault(z.string().max(200), 'The `iss` claim of access tokens', DEFAULT_ISSUER),
  JWT_ACCESS_TTL_SECONDS: withDefault(whole(1, 3_600), 'Lifetime of an access token', '900'),
  JWT_REFRESH_TTL_SECONDS: withDefault(whole(1, 315_360_000), 'Lifetime of an unused refresh token', '2592000'),
  JWT_SESSION_MAX_SECONDS: withDefault(
    whole(1, 315_360_000),
    'Lifetime of a session, no matter how often it is refreshed',
    '7776000',
  ),
  AUTH_REFRESH_LEEWAY_SECONDS: withDefault(
    whole(0, 300),
    'How long a spent refresh token still returns its unused successor',
    '10',
  ),
  AUTH_BROWSER_SESSION_SECONDS: withDefault(
    whole(60, 31_536_000),
    'How long a person who did not choose to stay signed in is signed in at the pages of this service without using them',
    '43200',
  ),
  AUTH_DEFAULT_APP_CODE: setting(z.string().max(100), 'App for registrations without an `app_code`'),
  AUTH_ALLOW_BASE_USER_LOGIN: withDefault(flag, 'Whether a login without an app returns a base-user token', 'false'),
  AUTH_REQUIRE_APP_CODE: setting(flag, 'Whether a login must name an app', {
    default: '`true`; `false` with AUTH_ALLOW_BASE_USER_LOGIN',
  }),
  AUTH_CLIENT_OVERRIDES: withDefault(
    z.enum(['open', 'declared']),
    'Which role and linked-app overrides clients may send',
    'open',
    'declared',
  ),
  AUTH_ADMIN_APP_CODES: withDefault(
    list(),
    'Active apps whose tokens carry the rights of a system_admin, comma-separated; `*` means all',
    '*',
    'authctl',
  ),
  AUTH_BOOTSTRAP_ADMIN_EMAIL: setting(
    z.string().max(254),
    'E-mail address of the system_admin that is created at start if none exists',
  ),
  AUTH_BOOTSTRAP_ADMIN_PASSWORD: setting(z.string(), 'Password of that system_admin', { secret: true }),
  AUTH_BCRYPT_COST: withDefault(
    whole(4, 15),
    'bcrypt cost of password hashes, 10 to 15. Hashes with another cost are replaced at the next login',
    '12',
  ),
  AUTH_HASH_THREADS: setting(whole(1, 64), 'Worker threads for password hashes', { default: 'one per core, at most 4' }),
  AUTH_PASSWORD_BLOCKLIST: withDefault(z.enum(['on', 'off']), 'Refuse the most common passwords', 'off', 'on'),
  AUTH_LOCKOUT_THRESHOLD: withDefault(whole(1, 1_000), 'Number of failed logins that locks an account', '10'),
  AUTH_LOCKOUT_SECONDS: withDefault(whole(1, 31_536_000), 'How long the account stays locked', '900'),
  AUTH_RATE_LIMIT_ACCOUNT: withDefault(
    limit,
    'Failed logins per e-mail address and way to sign in, COUNT/SECONDS or `off`',
    '20/300',
  ),
  AUTH_RATE_LIMIT_IP: withDefault(
    limit,
    'Per IP address: POSTs to pages, POSTs under `/auth/` that need no bearer token, and wrong client secrets; a refresh counts only if it fails; an IPv6 /48 as a whole has ten times the limit of a /64; COUNT/SECONDS or `off`',
    '1000/60',
    '100/60',
  ),
  AUTH_RATE_LIMIT_USER: withDefault(
    limit,
    'Per user: authenticated calls under `/auth/` and `/organizations/` that hash a password or send mail; COUNT/SECONDS or `off`',
    '20/60',
  ),
  AUTH_INVITATION_LIMIT: withDefault(
    limit,
    'Invitations per org_admin, and four times as many by all org_admins of an organization together; COUNT/SECONDS or `off`',
    '50/86400',
  ),
  AUTH_TRUST_PROXY: withDefault(whole(0, 20), 'Number of proxy hops whose X-Forwarded-For is trusted', '0'),
  AUTH_CORS_ORIGINS: withDefault(origins, 'Browser origins that may call the API, comma-separated; `*` means all', '*'),
  AUTH_METRICS_TOKEN: setting(z.string().min(16, 'must have at least 16 characters'), 'Bearer token that `/metrics` requires', {
    secret: true,
  }),
  SMTP_URL: setting(
    z.string().refine((text) => /^smtps?:$/.test(URL.parse(text)?.protocol ?? ''), 'must be an smtp or smtps URL'),
    'Mail server. Without one, mails are written to `.eml` files',
    { inProduction: 'required', secret: true },
  ),
  MAIL_FROM: withDefault(sender, 'Sender of mails: `no-reply@acme.com`, `Acme <no-reply@acme.com>`', 'no-reply@localhost'),
  AUTH_MAIL_DIR: withDefault(z.string(), 'Folder for mails if there is no SMTP_URL', '.gatehouse/mail'),
  AUTH_DEFAULT_FRONTEND_URL: setting(originUrl, 'Origin of links for apps without a `frontend_url`', { default: '`PUBLIC_URL`' }),
  AUTH_WEBHOOK_ALLOW_PRIVATE: withDefault(
    flag,
    'Whether webhooks may reach loopback, private and link-local addresses',
    'true',
    'false',
  ),
  AUTH_SSO_PRIVATE_HOSTS: setting(
    hosts,
    'Hosts of login providers, and of the URLs they refer to, that may have a loopback, private or link-local address. Exact names, comma-separated',
    { default: 'every host', inProduction: 'none' },
  ),
  AUTH_CHAT_WEBHOOK_HOSTS: setting(list(), 'Hosts to add to the built-in chat hosts, comma-separated'),
  AUTH_TOKEN_WARN_BYTES: withDefault(
    whole(1_024, 65_536),
    'Admin responses and `authctl doctor` warn about apps whose tokens would be longer. Nothing is refused',
    '6144',
  ),
  AUTH_RETENTION_DAYS: withDefault(whole(1, 36_500), 'Days to keep delivered payloads, ended sessions and spent tokens', '90'),
  AUTH_AUDIT_RETENTION_DAYS: setting(
    z
      .literal('forever')
      .transform(() => Number.POSITIVE_INFINITY)
      .or(whole(1, 36_500)),
    'Days to keep audit events, or `forever`; Postgres deletes a month at a time. If it is not set, production warns of the size that this leads to',
    { default: 'forever' },
  ),
  AUTH_SHUTDOWN_DELAY_SECONDS: withDefault(
    whole(0, 300),
    'How long requests are still served after SIGTERM, while `/ready` is 503. Set it longer than a load balancer needs to notice',
    '0',
  ),
  LOG_LEVEL: withDefault(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
    'Lowest level that is logged',
    'info',
  ),
})

/** Everything that is wrong with the settings. Each line names the variable and never its value. */
export class ConfigError extends Error {
  readonly faults: readonly string[]
  /** Reported as well, because a mistyped name may be why a setting is missing. */
  readonly warnings: readonly string[]

  constructor(faults: readonly string[], warnings: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'ConfigError'
    this.faults = faults
    this.warnings = warnings
  }
}

/** The content of a secret file, or why it cannot hold a secret. */
export type SecretFile = { text: string; isReadableByOthers: boolean } | { fault: string }

/** Where to get secrets that are not in the environment. */
interface SecretSources {
  /** Returns the secret kept under a name, and creates it on first use. Only called outside production. */
  kept(name: 'jwt-access-secret' | 'encryption-key'): string
  /** Reads the file that a variable such as JWT_ACCESS_SECRET_FILE names. */
  file(path: string): SecretFile
}

/**
 * Reads the settings from an environment. An empty variable counts as unset.
 * Throws ConfigError with every fault at once.
 */
export function loadConfig(environment: Record<string, string | undefined>, secrets: SecretSources): Config {
  const { given, names, faults, warnings } = readEnvironment(environment, secrets)
  const production = given.NODE_ENV === 'production'
  const complete = production ? { ...productionDefaults, ...given } : given
  const parsed = settings.safeParse(complete)
  if (!parsed.success) faults.push(...parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`))
  // Run the other checks on everything that parsed, even if some variables are faulty, so that one run reports every fault.
  const judged = parsed.data ?? parseSingly(complete)
  faults.push(...crossFaults(judged, names))
  if (production) {
    const secrets = judgeSecrets(judged)
    faults.push(...secrets.faults)
    warnings.push(...secrets.warnings, ...doubtsAbout(judged))
  }
  if (judged.PUBLIC_URL !== undefined && new URL(judged.PUBLIC_URL).pathname !== '/')
    warnings.push('PUBLIC_URL has a path: the sign-in page is off, and apps sign users in by the API; give the service an origin')
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults, warnings)
  return { ...configOf(parsed.data, secrets), production, warnings }
}

/** The settings as the code uses them. Names of durations end in their unit. The warnings never contain the value of a setting. */
export interface Config extends ReturnType<typeof configOf> {
  production: boolean
  warnings: readonly string[]
}

function configOf(env: Environment, secrets: SecretSources) {
  const { HOST: host, PORT: port } = env
  // A name, since browsers keep no passkeys for an IP address.
  const publicUrl = env.PUBLIC_URL ?? `http://localhost:${port}`
  const encryptionKey = env.AUTH_ENCRYPTION_KEY ?? Buffer.from(secrets.kept('encryption-key'), 'base64')
  const allowBaseUserLogin = env.AUTH_ALLOW_BASE_USER_LOGIN
  const encryptionKeys: [Buffer, ...Buffer[]] = [encryptionKey]
  if (env.AUTH_ENCRYPTION_KEY_PREVIOUS) encryptionKeys.push(env.AUTH_ENCRYPTION_KEY_PREVIOUS)
  return {
    host,
    port,
    publicUrl,
    databaseUrl: env.DATABASE_URL ?? defaultDatabaseUrl,
    dbPoolMax: env.DB_POOL_MAX,
    dbAcquireTimeoutMs: env.DB_ACQUIRE_TIMEOUT_MS,
    dbStatementTimeoutMs: env.DB_STATEMENT_TIMEOUT_MS,
    autoMigrate: env.AUTH_AUTO_MIGRATE,
    accessSecret: env.JWT_ACCESS_SECRET ?? secrets.kept('jwt-access-secret'),
    previousAccessSecret: env.JWT_ACCESS_SECRET_PREVIOUS,
    encryptionKeys,
    issuer: env.JWT_ISSUER,
    accessTtlSeconds: env.JWT_ACCESS_TTL_SECONDS,
    refreshTtlSeconds: env.JWT_REFRESH_TTL_SECONDS,
    sessionMaxSeconds: env.JWT_SESSION_MAX_SECONDS,
    refreshLeewaySeconds: env.AUTH_REFRESH_LEEWAY_SECONDS,
    /** How long a person is signed in at the pages of this service without using them. */
    browserSessionSeconds: env.AUTH_BROWSER_SESSION_SECONDS,
    defaultAppCode: env.AUTH_DEFAULT_APP_CODE,
    allowBaseUserLogin,
    requireAppCode: env.AUTH_REQUIRE_APP_CODE ?? !allowBaseUserLogin,
    clientOverrides: env.AUTH_CLIENT_OVERRIDES,
    adminAppCodes: env.AUTH_ADMIN_APP_CODES,
    bootstrapAdmin:
      env.AUTH_BOOTSTRAP_ADMIN_EMAIL !== undefined && env.AUTH_BOOTSTRAP_ADMIN_PASSWORD !== undefined
        ? { email: env.AUTH_BOOTSTRAP_ADMIN_EMAIL, password: env.AUTH_BOOTSTRAP_ADMIN_PASSWORD }
        : undefined,
    bcryptCost: env.AUTH_BCRYPT_COST,
    hashThreads: env.AUTH_HASH_THREADS ?? Math.min(4, availableParallelism()),
    passwordBlocklist: env.AUTH_PASSWORD_BLOCKLIST === 'on',
    lockoutThreshold: env.AUTH_LOCKOUT_THRESHOLD,
    lockoutSeconds: env.AUTH_LOCKOUT_SECONDS,
    accountLimit: env.AUTH_RATE_LIMIT_ACCOUNT,
    ipLimit: env.AUTH_RATE_LIMIT_IP,
    userLimit: env.AUTH_RATE_LIMIT_USER,
    invitationLimit: env.AUTH_INVITATION_LIMIT,
    trustedProxies: env.AUTH_TRUST_PROXY,
    corsOrigins: env.AUTH_CORS_ORIGINS,
    metricsToken: env.AUTH_METRICS_TOKEN,
    smtpUrl: env.SMTP_URL,
    mailFrom: env.MAIL_FROM,
    mailDir: env.AUTH_MAIL_DIR,
    defaultFrontendUrl: env.AUTH_DEFAULT_FRONTEND_URL ?? publicUrl,
    webhookAllowPrivate: env.AUTH_WEBHOOK_ALLOW_PRIVATE,
    /** Undefined if every host may have a private address. */
    ssoPrivateHosts: env.AUTH_SSO_PRIVATE_HOSTS ?? (env.NODE_ENV === 'production' ? [] : undefined),
    chatWebhookHosts: env.AUTH_CHAT_WEBHOOK_HOSTS ?? [],
    tokenWarnBytes: env.AUTH_TOKEN_WARN_BYTES,
    retentionDays: env.AUTH_RETENTION_DAYS,
    auditRetentionDays: env.AUTH_AUDIT_RETENTION_DAYS,
    shutdownDelaySeconds: env.AUTH_SHUTDOWN_DELAY_SECONDS,
    logLevel: env.LOG_LEVEL,
  }
}

interface ReadSettings {
  /** The settings that were set, including those read from files. */
  given: Record<string, string>
  /** Their names, including those whose file could not be read. */
  names: Set<string>
  faults: string[]
  warnings: string[]
}

function readEnvironment(environment: Record<string, string | undefined>, secrets: SecretSources): ReadSettings {
  const named = Object.entries(environment).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const given = Object.fromEntries(named.filter(([name]) => name in settings.shape))
  const read: ReadSettings = { given, names: new Set(Object.keys(given)), faults: [], warnings: [] }
  for (const [variable, path] of named) {
    const setting = secretFiles.get(variable)
    if (setting !== undefined) readFileOf(setting, path, secrets, read)
    else if (!(variable in settings.shape) && /^(AUTH|JWT|DB)_/.test(variable))
      read.warnings.push(`${variable} is not a setting; the nearest name is ${closest(variable, [...variables])}`)
  }
  return read
}

function readFileOf(name: string, path: string, secrets: SecretSources, { given, names, faults, warnings }: ReadSettings): void {
  if (name in given) {
    faults.push(`${name} and ${name}_FILE cannot both be set`)
    return
  }
  names.add(name)
  const file = secrets.file(path)
  if ('fault' in file) {
    faults.push(`${name}_FILE ${file.fault}`)
    return
  }
  const value = file.text.replace(/\r?\n$/, '')
  if (value === '') faults.push(`${name}_FILE names an empty file`)
  else given[name] = value
  if (file.isReadableByOthers)
    warnings.push(`${name}_FILE names a file that every user of this machine can read; chmod 600 the file, or 700 its folder`)
}

/** The settings that can be read from a file, keyed by the variable that names the file. */
const secretFiles = new Map(
  Object.entries(settings.shape).flatMap(([name, schema]) => (schema.meta()?.secret ? [[`${name}_FILE`, name]] : [])),
)
const variables = new Set([...Object.keys(settings.shape), ...secretFiles.keys()])

type Environment = z.output<typeof settings>

/** Defaults that differ in production, by name. */
const productionDefaults = Object.fromEntries(
  Object.entries(settings.shape).flatMap(([name, schema]) => {
    const inProduction = schema instanceof z.ZodPrefault ? schema.meta()?.inProduction : undefined
    return inProduction === undefined ? [] : [[name, inProduction]]
  }),
)

function parseSingly(given: Record<string, unknown>): Partial<Environment> {
  const parsed = Object.entries(settings.shape).map(([name, schema]) => [name, schema.safeParse(given[name])] as const)
  return Object.fromEntries(parsed.filter(([, result]) => result.success).map(([name, result]) => [name, result.data]))
}

/** Rules over more than one variable. `given` names the variables that were set, faulty or not. */
function crossFaults(env: Partial<Environment>, given: ReadonlySet<string>): string[] {
  const faults: string[] = []
  if (env.NODE_ENV === 'production') {
    for (const name of ['PUBLIC_URL', 'DATABASE_URL', 'JWT_ACCESS_SECRET', 'AUTH_ENCRYPTION_KEY', 'SMTP_URL'] as const) {
      if (!given.has(name)) faults.push(`${name} is required in production`)
    }
  }
  if (env.AUTH_BCRYPT_COST !== undefined && env.AUTH_BCRYPT_COST < 10 && env.NODE_ENV !== 'test') {
    faults.push('AUTH_BCRYPT_COST must be from 10 to 15')
  }
  if (env.JWT_ACCESS_SECRET !== undefined && env.JWT_ACCESS_SECRET === env.JWT_ACCESS_SECRET_PREVIOUS) {
    faults.push('JWT_ACCESS_SECRET_PREVIOUS must differ from JWT_ACCESS_SECRET')
  }
  if (given.has('AUTH_BOOTSTRAP_ADMIN_EMAIL') !== given.has('AUTH_BOOTSTRAP_ADMIN_PASSWORD')) {
    faults.push('AUTH_BOOTSTRAP_ADMIN_EMAIL and AUTH_BOOTSTRAP_ADMIN_PASSWORD must be set together')
  }
  return faults
}

/** Settings that production starts with, although they are seldom what the operator wants. */
function doubtsAbout({ PUBLIC_URL, AUTH_TRUST_PROXY, MAIL_FROM }: Partial<Environment>): string[] {
  const doubts: string[] = []
  const url = PUBLIC_URL === undefined ? null : URL.parse(PUBLIC_URL)
  if (url?.protocol === 'http:' && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname))
    doubts.push('PUBLIC_URL begins with http: passwords and tokens can be read in transit')
  // The service itself speaks plain HTTP.
  if (url?.protocol === 'https:' && AUTH_TRUST_PROXY === 0)
    doubts.push(
      'AUTH_TRUST_PROXY is 0 although PUBLIC_URL begins with https: all callers seem to have the address of the proxy, and share one rate limit; set the number of proxies',
    )
  if (MAIL_FROM !== undefined && /@localhost>?$/i.test(MAIL_FROM))
    doubts.push('MAIL_FROM is an address at localhost, which mail servers refuse or take for spam; set an address of your domain')
  return doubts
}

/**
 * Judges how strong the secrets are, for production. Previous secrets are not judged for strength; otherwise a weak one could not
 * be replaced.
 */
function judgeSecrets(env: Partial<Environment>): { faults: string[]; warnings: string[] } {
  const faults: string[] = []
  const warnings: string[] = []
  const { JWT_ACCESS_SECRET: secret, JWT_ACCESS_SECRET_PREVIOUS: previous, AUTH_ENCRYPTION_KEY: key } = env
  if (secret !== undefined) {
    if (documentedSamples.has(secret)) faults.push('JWT_ACCESS_SECRET is a sample from the documentation')
    else if (isGuessable(secret)) {
      const found = env.AUTH_ALLOW_WEAK_SECRET ? warnings : faults
      found.push('JWT_ACCESS_SECRET can be guessed; generate a random one (authctl secret new)')
    }
    if (secret !== secret.trim()) faults.push('JWT_ACCESS_SECRET must not begin or end with white space')
  }
  if (key !== undefined) {
    if (key.every((byte) => byte === key[0])) faults.push('AUTH_ENCRYPTION_KEY is one repeated byte (openssl rand -base64 32)')
    const signing = [secret, previous].filter((value) => value !== undefined)
    if (signing.some((value) => isMadeOf(key, value)))
      faults.push('AUTH_ENCRYPTION_KEY is derived from the signing secret, which every consumer has (openssl rand -base64 32)')
  }
  return { faults, warnings }
}
