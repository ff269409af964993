import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { addressKey } from '../../lib/client-address.ts'
import { keyedDigest } from '../../lib/digests.ts'
import { cutCode } from '../../lib/fields.ts'
import { addressKeys, deviceKey, secondFactorKey, sessionKey } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import type { Proof } from '../../lib/proof.ts'
import { countEvent, type NewAuditEvent, recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, clearFailures, countFailure } from '../../resources/lockouts/lockouts.ts'
import { type Attempt, giveBackAttempt, takeAttempt } from '../../resources/rate-limits/rate-limits.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/** An attempt that was counted, and its way to sign in. `closeAttempt` gives the attempt back if the login succeeds. */
export interface CountedAttempt {
  attempt: Attempt | undefined
  way: WayIn
}

interface AttemptPlan<T extends AttemptTarget> {
  /** Whose credentials are tried, or a function that finds out. An error of that function is not a failed attempt. */
  target: T | (() => Promise<T>)
  /** What the function searches by. It goes into the audit. */
  named?: NamedTarget
  /** Returns the way to sign in. `target` is undefined if looking it up failed. */
  way(target: T | undefined): WayIn
  /** Audits why the attempt failed, if it is not a login. */
  recordFailure?(error: ApiError, target: T): Promise<void>
}

/**
 * Runs one attempt to prove who a user is, under the limit and the lockout of its way to sign in. `prove` checks the credentials
 * and does what they are for; it gives the attempt back, or lets `enter` do so. Both limits count credentials that do not fit; any
 * other error gives the attempt back. The result of an attempt is disclosed only while its way to sign in is not locked. Throws
 * `rate_limited`, `account_locked`, and what `target` and `prove` throw.
 */
export async function withAttempt<T extends AttemptTarget, R>(
  deps: Deps<Pool>,
  plan: AttemptPlan<T>,
  actor: Actor,
  prove: (target: T, counted: CountedAttempt) => Promise<R>,
): Promise<R> {
  const { target, counted } = await begin(deps, plan, actor)
  try {
    return await prove(target, counted)
  } catch (thrown) {
    const error = thrown instanceof ApiError ? await lockoutOutcome(deps, target, counted.way, thrown, actor) : thrown
    if (!isFailure(error)) await giveBackAttempt(deps, counted.attempt)
    if (error instanceof ApiError) await (plan.recordFailure?.(error, target) ?? recordLoginFailure(deps, error, target, actor))
    throw error
  }
}

/** After a complete sign-in: clears the failures of its way, and gives the attempt back. */
export async function closeAttempt(deps: Deps<Tx>, proof: Proof, { attempt, way }: CountedAttempt): Promise<void> {
  await clearFailures(deps, failuresAt(proof, way))
  await giveBackAttempt(deps, attempt)
}

/** The failures that bar an entry, and those that the entry clears. Wrong codes do not bar a user who was not asked for one. */
function failuresAt({ userId, method, second }: Proof, { lockKeys, clearedKeys }: WayIn) {
  const codes = secondFactorKey(userId)
  if (second?.isTrusted) return { barring: lockKeys, clear: clearedKeys }
  return { barring: second && method !== 'passkey' ? [...lockKeys, codes] : lockKeys, clear: [...clearedKeys, codes] }
}

/**
 * Counts the attempt, and refuses it while its way to sign in is locked. The target decides which limit counts it, so it is looked
 * up first. A full limit takes precedence over an error of that lookup. Refusals are audited: none has cost a hash.
 */
async function begin<T extends AttemptTarget>(
  deps: Deps<Pool>,
  plan: AttemptPlan<T>,
  actor: Actor,
): Promise<{ target: T; counted: CountedAttempt }> {
  const [found] = await Promise.allSettled([typeof plan.target === 'function' ? plan.target() : plan.target])
  const known = found.status === 'fulfilled' ? found.value : undefined
  const way = plan.way(known)
  const recordRefusal = (error: ApiError) =>
    known && plan.recordFailure
      ? plan.recordFailure(error, known)
      : countLoginRefusal(deps, error, { email: '', ...plan.named, ...known }, actor)
  return recording(recordRefusal, async () => {
    const attempt = await takeAttempt(deps, way.limitKey, deps.config.accountLimit)
    if (found.status === 'rejected') {
      await giveBackAttempt(deps, attempt)
      throw found.reason
    }
    await assertNotLocked(deps, way.lockKeys)
    return { target: found.value, counted: { attempt, way } }
  })
}

/**
 * Counts a wrong password, and returns the error to answer with. Concurrent guesses all pass the first check of the lock, so
 * those that finish after the lock was set get only `account_locked`.
 */
async function lockoutOutcome(
  deps: Deps<Pool>,
  target: AttemptTarget,
  way: WayIn,
  error: ApiError,
  actor: Actor,
): Promise<ApiError> {
  const { email, user, app } = target
  try {
    if (error.code !== 'invalid_credentials') await assertNotLocked(deps, way.lockKeys)
    else if ((await countFailure(deps, { keys: way.lockKeys, userId: user?.id ?? null })).locks) {
      const about = { userId: user?.id ?? null, appId: app?.id ?? null }
      await recordEvent(deps, { event: 'user.locked', actor, ...about, details: { email } })
    }
    return error
  } catch (locked) {
    if (locked instanceof ApiError && locked.code === 'account_locked') return locked
    throw locked
  }
}

/** Errors that count as a failed attempt. */
const failureCodes: ReadonlySet<string> = new Set(['invalid_credentials', 'invalid_two_factor_code', 'account_locked'])

function isFailure(error: unknown): boolean {
  return error instanceof ApiError && failureCodes.has(error.code)
}

/**
 * One way to prove who a user is: a password, a password on a device that has logged the user in before, a magic link, or a
 * provider. Each has a separate limit and lockout, so a stranger who blocks one does not keep the user out of the others.
 */
export interface WayIn {
  /** The key by which the account limit counts attempts. */
  limitKey: string
  /**
   * The keys by which the lockout counts wrong passwords. Empty if only a second-factor code can be guessed, which is counted
   * separately.
   */
  lockKeys: readonly string[]
  /** Those of the `lockKeys` that a complete login clears. */
  clearedKeys: readonly string[]
  /** The key of the known device. */
  device?: string
}

/** Signing in with a password. `users` are all users with the address; `user` is the one whose password is tried. */
export function byPassword(
  deps: Deps,
  { email, pools, user, users }: { email: string; pools: readonly string[]; user?: PooledUser; users: readonly PooledUser[] },
): WayIn {
  const lockKeys = (of: readonly string[]) => addressKeys(deps.config.encryptionKeys[0], email, of)
  // If another user also has the address, failures may be guesses at that user's password.
  const ofOthers = poolsOf(users.filter(({ id }) => id !== user?.id))
  const clearedKeys = lockKeys(pools.filter((pool) => !ofOthers.includes(pool)))
  return { limitKey: limitKey(deps, email, 'password'), lockKeys: lockKeys(pools), clearedKeys }
}

/** Signing in with a password on a device where this user has signed in before. */
export function byKnownDevice(deps: Deps, { id, email }: PooledUser, device: string): WayIn {
  const key = deviceKey(id, device)
  return { limitKey: limitKey(deps, email, 'device', device), lockKeys: [key], clearedKeys: [key], device: key }
}

/**
 * For a signed-in user who gives the password again. Strangers cannot count against a session, so those who lock the password of
 * the address do not bar its user.
 */
export function bySession(deps: Deps, { id, email }: PooledUser, sessionId: string): WayIn {
  return { limitKey: limitKey(deps, email, 'session', sessionId), lockKeys: [sessionKey(id, sessionId)], clearedKeys: [] }
}

/** Signing in with something that cannot be guessed. Only a second-factor code can be wrong. */
export function byToken(deps: Deps, email: string, kind: 'magic_link' | 'email_code' | 'provider' | 'passkey'): WayIn {
  return { limitKey: limitKey(deps, email, kind), lockKeys: [], clearedKeys: [] }
}

/** Attempts are counted per address, whether or not a user has it. The key contains a digest of the address. */
function limitKey(deps: Deps, email: string, ...way: readonly string[]): string {
  return `account:${keyedDigest(deps.config.encryptionKeys[0], 'account-limit', email, ...way)}`
}

/** Whose credentials are tried, and for which app. */
export interface AttemptTarget {
  email: string
  /** Undefined if no user of the app has the address. */
  user: { id: string } | undefined
  /** Null without an app. */
  app: { id: string } | null
}

/** What the caller named, before it is known whether it exists. */
interface NamedTarget extends Partial<AttemptTarget> {
  email: string
  appCode?: string | undefined
}

/** Records in the audit why a login failed. The caller may get a less specific error. */
export async function recordLoginFailure(deps: Deps, error: ApiError, target: AttemptTarget, actor: Actor): Promise<void> {
  await recordEvent(deps, failureOf(error, target, actor))
}

/**
 * Like `recordLoginFailure`, for a login that was refused before any hash. Such refusals cost the caller nothing, so those from
 * one address for one app and one reason share one event per minute. All codes that no app has count as one app, and all
 * addresses of an IPv6 customer as one address: callers can make up as many as they like.
 */
export async function countLoginRefusal(deps: Deps<Pool>, error: ApiError, target: NamedTarget, actor: Actor): Promise<void> {
  // If the app was not found, only one error says that the code exists.
  const app = target.app?.id ?? (error.code === 'app_inactive' ? target.appCode : undefined) ?? ''
  const key = [addressKey(actor.origin.ip), app, error.code]
  await countEvent(deps, failureOf(error, target, actor), key)
}

function failureOf(error: ApiError, { email, user, app, appCode }: NamedTarget, actor: Actor): NewAuditEvent {
  const reason = error.code !== 'invalid_credentials' ? error.code : user ? 'wrong_password' : 'unknown_user'
  const about = user ? { userId: user.id } : { email }
  const details = {
    email,
    ...(app || appCode === undefined ? {} : { app_code: cutCode(appCode) }),
    ...(error.code === 'invalid_passkey' ? { fault: error.detail } : {}),
  }
  return { event: 'login.failed', actor, reason, appId: app?.id ?? null, ...about, details }
}

/** Runs a step of a login outside an attempt, and audits the ApiError if it throws one. */
export function recordingLoginFailure<T>(deps: Deps, target: AttemptTarget, actor: Actor, step: () => Promise<T>): Promise<T> {
  return recording((error) => recordLoginFailure(deps, error, target, actor), step)
}

/** Runs a step. If it throws an ApiError, records and rethrows it. */
export async function recording<T>(record: (error: ApiError) => Promise<void>, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (error instanceof ApiError) await record(error)
    throw error
  }
}
