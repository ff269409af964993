import { randomBytes, randomUUID } from 'node:crypto'
import { type Auth, createAuth } from '../auth.ts'
import type { Claims } from '../claims.ts'
import type { PermissionManifest } from '../define-permissions.ts'
import { configInvalid } from '../errors.ts'
import { type BadToken, createBadTokens } from './bad-tokens.ts'
import { startFakeService, type TestUserChange } from './fake-service.ts'
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
     * Adds a change to those that `auth.onUserChange` reads: at once when it is called, and then every 30 to 60 s. So add what a test
     * needs before that.
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
  const appId = randomUUID()
  const userId = randomUUID()
  const secret = randomBytes(32).toString('base64url')
  const serviceToken = `gsa_${randomBytes(32).toString('hex')}`
  let advancedMs = 0
  const startedMs = Date.now()
  const now = () => startedMs + advancedMs

  const versions = new Map<string, number>()
  const versionOf = (user: string) => versions.get(user) ?? 0
  const claimsOf = (overrides: object): Claims => {
    const iat = Math.floor(now() / 1000)
    const { uid = userId } = overrides as TokenOverrides
    const app = { app_id: appId, app_code: appCode }
    const user = {
      uid,
      email: 'test.user@example.com',
      first_name: 'Test',
      last_name: 'User',
      tv: versionOf(uid),
      sid: randomUUID(),
    }
    // A machine token holds no proof of a user.
    const proof = (overrides as TokenOverrides).kind === 'service' ? {} : { auth_time: iat, amr: ['pwd'] }
    const standard = { iss: 'gatehouse', aud: appCode, exp: iat + TOKEN_LIFE_SEC, nbf: iat, iat, jti: randomUUID() }
    return { ...app, ...user, ...proof, ...standard, roles: ['base_user'], permissions: [], ...overrides }
  }
  const token = (overrides: TokenOverrides<Name> = {}) =>
    signParts(encode(headerFor(secret)), encode(claimsOf(overrides)), secret)

  const introspect = async (presented: string) => {
    const result = await auth.safeVerify(presented)
    return result.ok ? { active: true, ...result.principal.claims } : { active: false }
  }
  let isStreaming = false
  // The clock of an app in another process runs, so this one runs too. They differ only by what the test has advanced.
  const serviceNow = () => Date.now() + advancedMs
  const app = { id: appId, code: appCode }
  const signIn = { now, token: (claims: Partial<Claims>) => token(claims as TokenOverrides<Name>), versionOf }
  const service = startFakeService({ secret, serviceToken, app, now: serviceNow, introspect, signIn })
  const user = service.signIn.add({ id: userId, email: 'test.user@example.com' })
  service.signIn.atPage = user
  const auth = createAuth<Name>({
    authUrl: service.url,
    appCode,
    appId,
    secret,
    issuer: 'gatehouse',
    serviceToken,
    ...(permissions && { permissions }),
    revocation: { mode: 'feed' },
    // Tests refuse tokens on purpose.
    logger: false,
    check: 'off',
    now,
    onEvent(event) {
      if (event.type === 'revocation.connected') isStreaming = event.transport === 'stream'
      if (event.type === 'revocation.disconnected') isStreaming = false
    },
  })

  let isDown = false
  /** The users whose revocation `auth` has not received yet, with their last revoked version. */
  const unlearned = new Map<string, number>()
  const learn = () =>
    until('received what the service sent', async () => {
      if (!isStreaming) return false
      for (const [uid, tv] of unlearned) {
        const result = await auth.safeVerify(token({ uid, tv }))
        if (result.ok) return false
        unlearned.delete(uid)
      }
      return true
    })

  return {
    auth,
    env: {
      SERVICE_AUTH_URL: service.url,
      SERVICE_APP_CODE: appCode,
      SERVICE_APP_ID: appId,
      SERVICE_ACCOUNT_TOKEN: serviceToken,
      JWT_ACCESS_SECRET: secret,
      JWT_ACCESS_SECRET_PREVIOUS: '',
      JWT_ISSUER: 'gatehouse',
    },
    userId,
    user,
    addUser: (given = {}) => service.signIn.add(given),
    token,
    bearer: (...names) => ({ authorization: `Bearer ${token({ permissions: names })}` }),
    // Valid for years, so that a test that moves its clock finds them wrong in the same way.
    badTokens: () => createBadTokens(token({ exp: Math.floor(now() / 1000) + 10 * YEAR_SEC }), secret),
    now,
    advance(seconds) {
      advancedMs += seconds * 1000
    },
    async revoke(user, revokedAppId) {
      // A consumer receives the events for its own app and those for all apps.
      const isOurs = revokedAppId === undefined || revokedAppId === appId
      if (isOurs) unlearned.set(user, versionOf(user))
      versions.set(user, versionOf(user) + 1)
      const event = { user_id: user, app_id: revokedAppId ?? null, session_id: null, min_tv: versionOf(user) }
      if (isOurs) service.revoke({ ...event, at: new Date(now()).toISOString() })
      if (!isDown) await learn()
    },
    service: {
      async down() {
        // A stream that is cut before it begins does not count as lost.
        if (!isDown) await learn()
        isDown = true
        service.down()
        await until('lost its connection', () => !auth.health().revocation.connected)
      },
      async up() {
        isDown = false
        service.up()
        await learn()
      },
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

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await holds()); looks += 1) {
    if (looks === LOOKS) throw new Error(`createTestAuth: auth has not ${what}; is it closed, or do fake timers hold it?`)
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
