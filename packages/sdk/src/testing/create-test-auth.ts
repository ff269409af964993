import { randomBytes, randomUUID } from 'node:crypto'
import { type Auth, createAuth } from '../auth.ts'
import type { Claims } from '../claims.ts'
import type { AuthEvent } from '../config.ts'
import type { PermissionManifest } from '../define-permissions.ts'
import { configInvalid } from '../errors.ts'
import { type BadToken, createBadTokens } from './bad-tokens.ts'
import { type FakeService, startFakeService, type TestUserChange } from './fake-service.ts'
import type { TestUser } from './fake-sign-in.ts'
import { encode, headerFor, signParts } from './sign-token.ts'

/** The options of `createTestAuth`. */
export interface TestAuthOptions<Name extends string = string> {
  /** The code of the app under test (default `test-app`). */
  readonly appCode?: string
  /** The manifest from `definePermissions`. It types the permission names of tokens. */
  readonly permissions?: PermissionManifest<Name>
}

/** The claims of a token that differ from the default. `undefined` leaves a claim out. */
export type TokenOverrides<Name extends string = string> = {
  readonly [Claim in keyof Claims]?: (Claim extends 'permissions' ? readonly Name[] : Claims[Claim]) | undefined
}

/** The environment variables that the app under test needs, for `Object.assign(process.env, env)`. */
export interface TestEnvironment {
  readonly SERVICE_AUTH_URL: string
  readonly SERVICE_APP_CODE: string
  readonly SERVICE_APP_ID: string
  readonly SERVICE_ACCOUNT_TOKEN: string
  readonly JWT_ACCESS_SECRET: string
  readonly JWT_ACCESS_SECRET_PREVIOUS: string
  readonly JWT_ISSUER: string
}

/** The result of `createTestAuth`. You can call each function without the object. */
export interface TestAuth<Name extends string = string> {
  /** An `auth` as from `createAuth`, with the clock of the test, which follows the revocations of `service`. */
  readonly auth: Auth<Name>
  readonly env: TestEnvironment
  /** The user of tokens that are made without a `uid`. */
  readonly userId: string
  /** The same user, with the password for `POST /auth/login`. The sign-in page of the service signs this user in. */
  readonly user: TestUser
  /** Adds a user to the service, for logins. What you leave out is made up. */
  addUser(user?: Partial<TestUser>): TestUser
  /**
   * Returns a token that lives for 900 seconds of the clock of the test, by default with the role `base_user`, no permissions, and
   * the proof of a password shown just now. `{ auth_time, amr: ['pwd', 'otp', 'mfa'] }` makes it another proof.
   */
  token(overrides?: TokenOverrides<Name>): string
  /** Returns the header of a request by a user with these permissions. */
  bearer(...permissions: Name[]): { authorization: string }
  /** Returns tokens that must be refused, each with the code with which `auth.verify` refuses it. */
  badTokens(): BadToken[]
  /** The clock of the test, in milliseconds since 1970. It stands at the time of `createTestAuth` until `advance` moves it. */
  now(): number
  /** Moves the clock of the test forward. */
  advance(seconds: number): void
  /**
   * Revokes all tokens that the user has, in one app or in all. Tokens made afterwards are good. Resolves when `auth` has
   * received the revocation, or at once while the service is down.
   */
  revoke(userId: string, appId?: string): Promise<void>
  readonly service: {
    /** Makes the service unreachable. Resolves when `auth` has lost its connection. */
    down(): Promise<void>
    /** Makes the service reachable again. Resolves when `auth` has received everything that was revoked meanwhile. */
    up(): Promise<void>
    /**
     * Adds a change to those that `auth.onUserChange` reads: at once when it is called, and then every 30 to 60 s. So add what a
     * test needs before that.
     */
    changeUser(change: TestUserChange): void
    /** Sets whom the sign-in page of the service signs in. With `null` they cancel, and the app gets `access_denied`. */
    signInAs(user: TestUser | null): void
  }
  /** Stops the service and `auth`. A program ends without it when its work is done. */
  close(): Promise<void>
}

const TOKEN_LIFE_SEC = 900
const YEAR_SEC = 365 * 86_400
const LOOK_EVERY_MS = 2
const LOOKS = 1_000
/** Taken at the time of the import, since a test may replace the timers. */
const { setTimeout } = globalThis

/**
 * Creates an `auth` for tests, with real tokens that are signed with a random secret, and a service on this machine. Throws
 * `CONFIG_INVALID` if `NODE_ENV` is `production`: there, a caller of this could sign tokens.
 *
 * @example
 * ```ts
 * import { createTestAuth } from '@gatehouse/sdk/testing'
 *
 * const test = createTestAuth({ appCode: 'billing' })
 * const token = test.token({ permissions: ['invoices:read'] })
 * ```
 */
export function createTestAuth<Name extends string = string>(options: TestAuthOptions<Name> = {}): TestAuth<Name> {
  if (process.env.NODE_ENV === 'production')
    throw configInvalid('createTestAuth signs tokens for tests, and refuses NODE_ENV=production')
  const { appCode = 'test-app', permissions } = options
  const app = { id: randomUUID(), code: appCode }
  const userId = randomUUID()
  const secret = randomBytes(32).toString('base64url')
  const serviceToken = `gsa_${randomBytes(32).toString('hex')}`
  const clock = createClock()
  const { now } = clock
  const tokens = new TestTokens<Name>({ app, userId, secret, now })
  const token = (overrides: TokenOverrides<Name> = {}) => tokens.make(overrides)

  const introspect = async (presented: string) => {
    const result = await auth.safeVerify(presented)
    return result.ok ? { active: true, ...result.principal.claims } : { active: false }
  }
  const signIn = {
    now,
    token: (claims: Partial<Claims>) => token(claims as TokenOverrides<Name>),
    versionOf: (user: string) => tokens.versionOf(user),
  }
  const service = startFakeService({ secret, serviceToken, app, now: clock.running, introspect, signIn })
  const user = service.signIn.add({ id: userId, email: testEmail })
  service.signIn.atPage = user
  const revocations = new Revocations(app.id, tokens, service)
  const env: TestEnvironment = {
    SERVICE_AUTH_URL: service.url,
    SERVICE_APP_CODE: appCode,
    SERVICE_APP_ID: app.id,
    SERVICE_ACCOUNT_TOKEN: serviceToken,
    JWT_ACCESS_SECRET: secret,
    JWT_ACCESS_SECRET_PREVIOUS: '',
    JWT_ISSUER: issuer,
  }
  const auth = createAuth<Name>({
    ...{ authUrl: service.url, appCode, appId: app.id, secret, issuer, serviceToken, now },
    ...(permissions && { permissions }),
    revocation: { mode: 'feed' },
    // Tests refuse tokens on purpose.
    logger: false,
    check: 'off',
    onEvent: (event) => revocations.note(event),
  })

  return {
    ...{ auth, env, userId, user, token, now, advance: clock.advance },
    addUser: (given = {}) => service.signIn.add(given),
    bearer: (...names) => ({ authorization: `Bearer ${token({ permissions: names })}` }),
    // Valid for years, so that a test that moves its clock finds them wrong in the same way.
    badTokens: () => createBadTokens(token({ exp: Math.floor(now() / 1000) + 10 * YEAR_SEC }), secret),
    revoke: (revokedUser, appId) => revocations.revoke(auth, revokedUser, appId, now()),
    service: {
      down: () => revocations.cutOff(auth),
      up: () => revocations.goOn(auth),
      changeUser: service.change,
      signInAs(user) {
        service.signIn.atPage = user
      },
    },
    async close() {
      await auth.close()
      service.close()
    },
  }
}

const issuer = 'gatehouse'
const testEmail = 'test.user@example.com'

/** `now` stands until it is advanced. */
function createClock() {
  let advancedMs = 0
  const startedMs = Date.now()
  return {
    now: () => startedMs + advancedMs,
    /**
     * The clock of an app in another process runs, so that of the service runs too. They differ only by what the test has advanced.
     */
    running: () => Date.now() + advancedMs,
    advance(seconds: number) {
      advancedMs += seconds * 1000
    },
  }
}

interface TokenSource {
  readonly app: { readonly id: string; readonly code: string }
  /** The user of tokens that name none. */
  readonly userId: string
  readonly secret: string
  readonly now: () => number
}

/** Makes tokens, and knows the token versions of their users. */
class TestTokens<Name extends string> {
  readonly #source: TokenSource
  readonly #versions = new Map<string, number>()

  constructor(source: TokenSource) {
    this.#source = source
  }

  versionOf(user: string): number {
    return this.#versions.get(user) ?? 0
  }

  /** Returns the last version that is dead from now on. */
  raiseVersion(user: string): number {
    const before = this.versionOf(user)
    this.#versions.set(user, before + 1)
    return before
  }

  make(overrides: TokenOverrides<Name>): string {
    const { secret } = this.#source
    return signParts(encode(headerFor(secret)), encode(this.#claimsOf(overrides)), secret)
  }

  #claimsOf(overrides: object): Claims {
    const { app, userId, now } = this.#source
    const iat = Math.floor(now() / 1000)
    const { uid = userId, kind } = overrides as TokenOverrides
    const user = { uid, email: testEmail, first_name: 'Test', last_name: 'User', tv: this.versionOf(uid), sid: randomUUID() }
    // A machine token holds no proof of a user.
    const proof = kind === 'service' ? {} : { auth_time: iat, amr: ['pwd'] }
    const standard = { iss: issuer, aud: app.code, exp: iat + TOKEN_LIFE_SEC, nbf: iat, iat, jti: randomUUID() }
    const rights = { roles: ['base_user'], permissions: [] }
    return { app_id: app.id, app_code: app.code, ...user, ...proof, ...standard, ...rights, ...overrides }
  }
}

/** Revokes tokens, and waits until `auth` knows it. */
class Revocations {
  readonly #appId: string
  readonly #tokens: TestTokens<string>
  readonly #service: FakeService
  /** The users whose revocation `auth` has not received yet, with their last revoked version. */
  readonly #unlearned = new Map<string, number>()
  #isStreaming = false
  #isDown = false

  constructor(appId: string, tokens: TestTokens<string>, service: FakeService) {
    this.#appId = appId
    this.#tokens = tokens
    this.#service = service
  }

  /** Takes the events of `auth`. */
  note(event: AuthEvent): void {
    if (event.type === 'revocation.connected') this.#isStreaming = event.transport === 'stream'
    if (event.type === 'revocation.disconnected') this.#isStreaming = false
  }

  async revoke(auth: Auth, user: string, appId: string | undefined, nowMs: number): Promise<void> {
    const revoked = this.#tokens.raiseVersion(user)
    // A consumer receives the events for its own app and those for all apps.
    if (appId === undefined || appId === this.#appId) {
      this.#unlearned.set(user, revoked)
      const at = new Date(nowMs).toISOString()
      this.#service.revoke({ user_id: user, app_id: appId ?? null, session_id: null, min_tv: revoked + 1, at })
    }
    if (!this.#isDown) await this.#learn(auth)
  }

  async cutOff(auth: Auth): Promise<void> {
    // A stream that is cut before it begins does not count as lost.
    if (!this.#isDown) await this.#learn(auth)
    this.#isDown = true
    this.#service.down()
    await until('lost its connection', () => !auth.health().revocation.connected)
  }

  async goOn(auth: Auth): Promise<void> {
    this.#isDown = false
    this.#service.up()
    await this.#learn(auth)
  }

  #learn(auth: Auth): Promise<void> {
    return until('received what the service sent', async () => {
      if (!this.#isStreaming) return false
      for (const [uid, tv] of this.#unlearned) {
        const result = await auth.safeVerify(this.#tokens.make({ uid, tv }))
        if (result.ok) return false
        this.#unlearned.delete(uid)
      }
      return true
    })
  }
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await holds()); looks += 1) {
    if (looks === LOOKS) throw new Error(`createTestAuth: auth has not ${what}; is it closed, or do fake timers hold it?`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
