import type { Deps } from '../../deps.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'
import { addressKeys, deviceKey, sessionKey } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import type { PooledUser } from '../../resources/users/present.ts'

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

/** The way in with a password. `users` are all users with the address; `user` is the one whose password is tried. */
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

/** The way in with a password on a device that has logged this user in before. */
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

/** The way in with something that cannot be guessed. Only a second-factor code can be wrong. */
export function byToken(deps: Deps, email: string, kind: 'magic_link' | 'provider'): WayIn {
  return { limitKey: limitKey(deps, email, kind), lockKeys: [], clearedKeys: [] }
}

/** Attempts are counted per address, whether or not a user has it. The key contains a digest of the address. */
function limitKey(deps: Deps, email: string, ...way: readonly string[]): string {
  return `account:${keyedDigest(deps.config.encryptionKeys[0], 'account-limit', email, ...way)}`
}
