import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { Actor, OwnCaller, PersonCaller, UserCaller } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import type { Proof } from '../../lib/proof.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { type FactorRow, SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked } from '../../resources/lockouts/lockouts.ts'
import { giveBackAttempt, limitUser } from '../../resources/rate-limits/rate-limits.ts'
import { authenticateCaller } from '../../resources/sessions/authenticate-caller.ts'
import { type BrowserSecrets, keepInBrowser, newDeviceTokenFor } from '../../resources/sessions/browser-sessions.ts'
import { lockOwner } from '../../resources/sessions/user-sessions.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { getUser } from '../../resources/users/users.ts'
import { byPassword, bySession, byToken, type CountedAttempt, withAttempt } from './attempt.ts'
import { verifyPassword } from './login.ts'
import { findPasskey, invalidPasskey, provePasskey, type TriedPasskey } from './passkey.ts'
import { checkSecondFactor, firstFactor, passSecondFactor } from './prove.ts'

/** The error codes that routes declare if they call `requireFreshProof`. */
export const proofErrors = [
  'account_locked',
  'fresh_login_required',
  'invalid_credentials',
  'rate_limited',
] as const satisfies ErrorCode[]

/** For routes that set `asksPassword`. */
export const passwordNote =
  'Always requires the `password` of the account, if it has one, so that an access token alone is never enough. Also requires ' +
  '`two_factor_code` if a second factor is active, unless a login in the last 10 minutes passed it. Wrong credentials count as ' +
  'a failed login.'

export const proofNote =
  'Requires a login in the last 10 minutes, with the second factor if one is active. A refresh does not count as a login. ' +
  'Otherwise the body must have `password`, and `two_factor_code` if a second factor is active. Wrong credentials count as ' +
  'a failed login.'

interface Identity {
  caller: OwnCaller
  /** The active second factor, which the calling function has already read. */
  factor: FactorRow | undefined
  password?: string | undefined
  code?: string | undefined
  /** Whether the password is required even right after a login. */
  asksPassword?: boolean
}

/**
 * Call this before you add or remove a way to sign in: a stolen access token must not be enough to lock the owner out. Requires
 * that the session began, or the user proved who they are, in the last few minutes. Otherwise requires the password, and a code
 * if a second factor is active. Credentials are checked whenever they are given, and a complete set is noted in the session.
 * With `asksPassword` the password is always required, but for somebody on the account page, who has shown it there.
 * Throws `fresh_login_required`, and what `proveAgain` throws.
 */
export async function requireFreshProof(deps: Deps<Pool>, identity: Identity, actor: Actor): Promise<void> {
  const { caller, factor, password, code, asksPassword = false } = identity
  const now = deps.clock()
  const factorSince = factor?.activated_at ?? null
  if (caller.sessionId === null) {
    const refusal = caller.authority.refuseCredentialChange({ now, factorSince })
    if (refusal) throw new ApiError(refusal.code, refusal)
    return limitUser(deps, caller)
  }
  const isComplete = password !== undefined && (factor === undefined || code !== undefined)
  if (asksPassword && password === undefined)
    throw new ApiError('fresh_login_required', { detail: 'password: is required, even right after a login' })
  const refusal = isComplete ? undefined : caller.authority.refuseCredentialChange({ now, factorSince })
  if (refusal) throw new ApiError(refusal.code, refusal)
  if (password === undefined && code === undefined) return limitUser(deps, caller)
  await proveAgain(deps, { caller, password, code }, actor)
  if (!isComplete) return
  // A newer proof stays.
  await Session.query(deps.db)
    .where({ id: caller.sessionId, ended_at: null })
    .where((any) => any.whereNull('proven_at').orWhere('proven_at', '<', now))
    .patch({ proven_at: now })
}

/**
 * Asks a signed-in user for the credentials again, so that a stolen access token is not enough. Guesses are limited, counted and
 * answered like those at a login, but wrong passwords count against the session: neither do strangers who lock the password of
 * the address bar its user, nor do guesses bar a login. Success clears no failures. Checks only the credentials that are given,
 * and a code only if a second factor is active. Throws `rate_limited`, `account_locked`, `invalid_credentials`,
 * `invalid_two_factor_code`.
 */
export async function proveAgain(
  deps: Deps<Pool>,
  { caller, password, code }: { caller: UserCaller; password?: string | undefined; code?: string | undefined },
  actor: Actor,
): Promise<void> {
  await limitUser(deps, caller)
  const user = await getUser(deps, caller.userId)
  await tryCredentials(deps, { user, appId: caller.appId, sessionId: caller.sessionId, password, code }, actor)
}

interface TriedCredentials {
  user: PooledUser
  appId: string | null
  sessionId?: string | undefined
  password?: string | undefined
  code?: string | undefined
  /** Whether a code is required if a second factor is active. Otherwise only a given one is checked. */
  asksCode?: boolean
}

/**
 * Like `proveAgain`, but without the limit per user, also for a caller who has no session: then wrong passwords count like those
 * at a login through an app that sees the user's pools.
 */
async function tryCredentials(
  deps: Deps<Pool>,
  { user, appId, sessionId, password, code, asksCode = code !== undefined }: TriedCredentials,
  actor: Actor,
): Promise<void> {
  await withCredentials(deps, { user, appId, sessionId }, actor, async (counted) => {
    if (password !== undefined) await verifyPassword(deps, password, user, hashLineOf(actor))
    if (asksCode) await checkSecondFactor(deps, user, code, actor)
    await passed(deps, user, counted, code !== undefined)
  })
}

/** Runs a try of the credentials of a user who is known. */
async function withCredentials<R>(
  deps: Deps<Pool>,
  { user, appId, sessionId }: Pick<TriedCredentials, 'user' | 'appId' | 'sessionId'>,
  actor: Actor,
  prove: (counted: CountedAttempt) => Promise<R>,
): Promise<R> {
  const app = appId === null ? null : { id: appId }
  const way =
    sessionId === undefined
      ? byPassword(deps, { email: user.email, pools: poolsOf([user]), user, users: [user] })
      : bySession(deps, user, sessionId)
  return withAttempt(
    deps,
    {
      target: { email: user.email, user, app },
      way: () => way,
      async recordFailure({ code }) {
        const reason = code === 'invalid_credentials' ? 'wrong_password' : code
        await recordEvent(deps, { event: 'reauthentication.failed', actor, reason, userId: user.id, appId: app?.id ?? null })
      },
    },
    actor,
    async (_, counted) => prove(counted),
  )
}

/** After credentials that were right: discloses that only while they are not locked, and gives the attempt back. */
export async function passed(
  deps: Deps<Pool>,
  user: PooledUser,
  { way, attempt }: CountedAttempt,
  hasCode: boolean,
): Promise<void> {
  await assertNotLocked(deps, hasCode ? [...way.lockKeys, secondFactorKey(user.id)] : way.lockKeys)
  await giveBackAttempt(deps, attempt)
}

/** What the caller sends in addition to the token of a mail. */
export interface AccountEvidence {
  password?: string | undefined
  two_factor_code?: string | undefined
  bearer?: string | undefined
  /** Somebody on the account page, which lets in only who has just signed in. */
  person?: PersonCaller | undefined
}

/**
 * Whether the holder of a mail link also holds the account, shown by its password or by the access token of one of its sessions.
 * Only both together show that the mailbox and the account belong to one person. An invalid bearer counts as none. A wrong
 * password counts as a failed login. With `asksCode`, a password is not enough if a second factor is active. Throws
 * `invalid_credentials`, `account_locked`, `rate_limited`, and with `asksCode` what `checkSecondFactor` throws.
 */
export async function holdsAccount(
  deps: Deps<Pool>,
  { userId, appId, asksCode = false }: { userId: string; appId: string; asksCode?: boolean },
  { password, two_factor_code: code, bearer, person }: AccountEvidence,
  actor: Actor,
): Promise<boolean> {
  if (password !== undefined) {
    const user = await getUser(deps, userId)
    await tryCredentials(deps, { user, appId, password, ...(asksCode ? { code, asksCode } : {}) }, actor)
    return true
  }
  if (person) return person.userId === userId
  return bearer !== undefined && (await findUserId(deps, bearer)) === userId
}

async function findUserId(deps: Deps, bearer: string): Promise<string | undefined> {
  try {
    const caller = await authenticateCaller(deps, bearer)
    return caller.kind === 'user' ? caller.userId : undefined
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}

type PersonActor = Actor & { caller: PersonCaller }

/**
 * Renews the proof of a browser session with the password of its person, and the second factor if one is active. Guesses are
 * limited, counted and audited like those of a signed-in user (`proveAgain`). Throws what that throws, `two_factor_required`, and
 * `token_revoked` if the session has ended meanwhile.
 */
export async function proveByPassword(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  { password, code }: { password: string; code: string | undefined },
  actor: PersonActor,
): Promise<BrowserSecrets> {
  await limitUser(deps, actor.caller)
  const user = userOf(live)
  const tried = { user, appId: null, sessionId: live.browser_session_id }
  const proof = await withCredentials(deps, tried, actor, async (counted) => {
    const known = await verifyPassword(deps, password, user, hashLineOf(actor))
    const proof = await passSecondFactor(deps, firstFactor(deps, known, 'password'), code, actor)
    await passed(deps, user, counted, code !== undefined)
    return proof
  })
  return keepProof(deps, live, proof, actor)
}

/** The same with a passkey of the person, which is both factors. Throws `invalid_passkey`, also for one of somebody else. */
export async function proveByPasskey(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  { sent, field, browser }: { sent: string; field: string; browser: string },
  actor: PersonActor,
): Promise<BrowserSecrets> {
  const attempt = {
    named: { email: '', app: null },
    target: () => findPasskey(deps, { sent, field, browser, app: null }),
    way: (target: TriedPasskey | undefined) => byToken(deps, target?.email ?? '', 'passkey'),
  }
  const proof = await withAttempt(deps, attempt, actor, async (found, { attempt }) => {
    if (found.user.id !== live.user_id) throw invalidPasskey('user_handle')
    const proof = await provePasskey(deps, found, actor)
    await giveBackAttempt(deps, attempt)
    return proof
  })
  return keepProof(deps, live, proof, actor)
}

async function keepProof(deps: Deps<Pool>, live: LiveBrowserSession, proof: Proof, actor: PersonActor): Promise<BrowserSecrets> {
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    const factor = await SecondFactor.findActive(deps.db, proof.userId)
    if (factor && proof.second?.activatedAt !== (factor.activated_at ?? 0)) throw new ApiError('two_factor_required')
    const isKept = live.is_kept === 1
    const secret = await keepInBrowser(deps, { proof, before: live, isKept }, actor)
    return { secret, isKept, deviceToken: await newDeviceTokenFor(deps, proof.userId) }
  })
}
