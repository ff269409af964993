import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, Caller, ClientCaller } from '../../lib/caller.ts'
import { deviceOf } from '../../lib/device-token.ts'
import { type HashLine, hashLineOf } from '../../lib/hash-line.ts'
import { firstInPools, poolSet } from '../../lib/pool-set.ts'
import type { Membership, TokenAnswer } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { getActiveApp } from '../../resources/apps/apps.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { type Acceptance, acceptInvitation, opensSignUp } from '../../resources/invitations/invitations.ts'
import { assertVerifiedFor } from '../../resources/sessions/admit.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { type FoundUser, listUsersOfEmail } from '../../resources/users/find-users.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { getUser, lockUserRow } from '../../resources/users/users.ts'
import { type AttemptTarget, byKnownDevice, byPassword, type WayIn, withAttempt } from './attempt.ts'
import { enter } from './enter.ts'
import { firstFactor, passSecondFactor } from './prove.ts'

export interface PasswordLogin {
  email: string
  password: string
  app_code?: string | undefined
  organization_id?: string | undefined
  two_factor_code?: string | undefined
  /** From an earlier answer. It shows that the device is known. */
  device_token?: string | undefined
  role_code?: string | undefined
  linked_app_codes?: string[] | undefined
}

/**
 * Signs a user in with a password. The steps, as a caller can observe them: count the attempt against its limit, find the app, find
 * the user, refuse a locked way to sign in, verify the password, refuse an address that the app wants verified and that is not,
 * pass the second factor, and then the gate, which checks account, roles and grant (`docs/why/flows/login.md`). A wrong password,
 * an unknown user, a user outside the app's pools and a deleted user cannot be told apart: they take the same time and give the
 * same `invalid_credentials`. Anything that depends on the account is disclosed only after a correct password. Also throws
 * `rate_limited`, `account_locked`, `app_code_required`, `app_not_found`, and what the second factor and the gate throw.
 */
export async function login(deps: Deps<Pool>, input: PasswordLogin, actor: Actor): Promise<TokenAnswer> {
  return (await logInWith(deps, input, {}, actor)).tokens
}

/** What the caller of a login knows. It is no part of the input, which may hold any member that a client sent. */
interface KnownBefore {
  /** The app and the invitation of a registration that becomes a login. */
  app?: App
  invitation?: string | undefined
  /** Only a rehearsal has one, and a page of ours that gives no tokens away. */
  client?: ClientCaller
}

/**
 * The same, and for `register_or_login` accepts an invitation after the credentials are checked and before the gate. Returns the
 * organization that the user joined by it.
 */
export async function logInWith(
  deps: Deps<Pool>,
  input: PasswordLogin,
  { app: knownApp, invitation: token, client }: KnownBefore,
  actor: Actor,
): Promise<{ tokens: TokenAnswer; organization: Membership | null }> {
  return withAttempt(deps, passwordAttempt(deps, input, knownApp), actor, async ({ app, user: found }, counted) => {
    const line = hashLineOf(actor, counted.way.device)
    const user = await verifyPassword(deps, input.password, found, line)
    // An invitation may verify the address. With one, the gate checks the address later.
    if (user.status === 'active' && token === undefined) assertVerifiedFor(app, user)
    const proof = await passSecondFactor(deps, firstFactor(deps, user, 'password'), input.two_factor_code, actor)
    const upgradedHash = await upgradeHash(deps, input.password, user, line)

    return transaction(deps, async (deps) => {
      const accepted = token === undefined ? undefined : await accept(deps, token, user, actor)
      const invitation = accepted && {
        opensSignUp: accepted.joined && app !== null && (await opensSignUp(deps, accepted.invitation, app)),
      }
      const overrides = { roleCode: input.role_code, linkedAppCodes: input.linked_app_codes }
      const entering = { user: accepted?.user ?? user, app, client, organizationId: input.organization_id, invitation }
      const tokens = await enter(deps, { proof, ...entering, overrides, counted }, actor)
      if (upgradedHash !== undefined) await User.replaceHash(deps.db, user, upgradedHash)
      return { tokens, organization: accepted?.membership ?? null }
    })
  })
}

async function accept(deps: Deps<Tx>, token: string, verified: PooledUser, actor: Actor): Promise<Acceptance> {
  await lockUserRow(deps, verified.id)
  const user = await getUser(deps, verified.id)
  // The account was taken over, or its password changed, after the password was checked. The session would be dead, but a
  // membership would stay.
  if (user.min_token_version > verified.token_version) throw new ApiError('invalid_credentials')
  return acceptInvitation(deps, token, user, actor)
}

/** One attempt with a password: whose it is, and the limit and the lockout that count it. */
export function passwordAttempt(deps: Deps, input: PasswordLogin, knownApp?: App) {
  return {
    target: () => findTarget(deps, input, knownApp),
    named: { email: input.email, appCode: knownApp?.code ?? input.app_code },
    way: (target: PasswordTarget | undefined) => wayOf(deps, input, target),
  }
}

interface PasswordTarget extends AttemptTarget {
  user: FoundUser | undefined
  app: App | null
  /** All users with this address. */
  users: readonly FoundUser[]
  /** Earlier device tokens are dead. */
  minIat: number
}

async function findTarget(deps: Deps, { email, app_code }: PasswordLogin, knownApp: App | undefined): Promise<PasswordTarget> {
  const { users, catalogGeneration } = await listUsersOfEmail(deps, email)
  const app = knownApp ?? (await resolveApp(deps, app_code, catalogGeneration))
  const minIat = await (await readCatalog(deps, catalogGeneration)).getMinIat()
  return { email, app, user: firstInPools(users, poolSet(app)), users, minIat }
}

/** The key of the device, if the user whom the address names has signed in on it before. */
export async function knownDeviceOf(
  deps: Deps,
  { email, deviceToken }: { email: string; deviceToken: string | undefined },
  app: App,
): Promise<string | undefined> {
  const input = { email, password: '', device_token: deviceToken }
  return wayOf(deps, input, await findTarget(deps, input, app)).device
}

/** Ignores a device token that is not valid for this user. */
function wayOf(deps: Deps, { email, device_token: token }: PasswordLogin, target: PasswordTarget | undefined): WayIn {
  if (!target) return byPassword(deps, { email, pools: [], users: [] })
  const { app, user, users, minIat } = target
  const owner = user && { ...user, factor_activated_at: user.factor?.activated_at ?? null }
  const device =
    token === undefined ? undefined : deviceOf(deps.config.encryptionKeys, token, owner, { now: deps.clock(), minIat })
  if (user && device !== undefined) return byKnownDevice(deps, user, device)
  return byPassword(deps, { email, pools: poolSet(app), user, users })
}

/** Returns null for a login without an app, if the settings allow one. Its pool set is then `default`. */
async function resolveApp(deps: Deps, code: string | undefined, catalogGeneration: string): Promise<App | null> {
  if (code !== undefined) return getActiveApp(deps, code, catalogGeneration)
  if (deps.config.requireAppCode) throw new ApiError('app_code_required', { detail: 'app_code: is required' })
  return null
}

/**
 * Always runs one bcrypt at the configured cost, even without a user, so that timing reveals nothing. Throws
 * `invalid_credentials`.
 */
export async function verifyPassword<U extends Pick<PooledUser, 'password_hash'>>(
  deps: Deps,
  password: string,
  user: U | undefined,
  line: HashLine,
): Promise<U> {
  const matches = await deps.passwords.verify(password, user?.password_hash, line)
  if (!matches || !user) throw new ApiError('invalid_credentials')
  return user
}

/**
 * Hashes a password again if its hash does not have the configured cost. Returns undefined if no upgrade is due. If the hash queue
 * is full, the upgrade waits for the next login.
 */
export async function upgradeHash(deps: Deps, password: string, user: PooledUser, line: HashLine): Promise<string | undefined> {
  if (user.password_hash === null || !deps.passwords.needsUpgrade(user.password_hash)) return undefined
  return deps.passwords.hash(password, line).catch(() => undefined)
}

/**
 * Finds the caller of a login or registration. A bearer has only one use there: if overrides must be declared, it exempts some
 * callers from that for this app. Any other bearer is ignored, even a dead one.
 */
export async function findOverridingCaller(
  deps: Deps,
  input: { app_code?: string | undefined; role_code?: string | undefined; linked_app_codes?: readonly string[] | undefined },
  bearer: string | undefined,
): Promise<Caller | undefined> {
  const overrides = input.role_code !== undefined || input.linked_app_codes !== undefined
  const appCode = input.app_code
  if (bearer === undefined || appCode === undefined || !overrides || deps.config.clientOverrides === 'open') return undefined
  try {
    const caller = await authenticateCaller(deps, bearer)
    return caller.authority.mayOverride(appCode, appCode) ? caller : undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}
