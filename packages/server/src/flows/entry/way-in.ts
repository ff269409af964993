import type { Deps } from '../../deps.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'
import { addressKeys, deviceKey } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import type { PooledUser } from '../../resources/users/present.ts'

/**
 * One way to prove who somebody is. Each has a limit and a lockout of its own, so that a stranger who spoils one keeps the user out of no
 * other: a password, the password on a device that has logged the user in before, a magic link, a provider.
 */
export interface WayIn {
  /** What the limit of the account counts attempts by. */
  limitKey: string
  /** What the lockout counts wrong passwords by. None where there is nothing to guess but a second-factor code, which is counted apart. */
  lockKeys: readonly string[]
  /** Those of them that a complete login clears. */
  clearedKeys: readonly string[]
  /** The known device that it is. */
  device?: string
}

/** With a password. `users` are all who have the address; `user` is the one whose password it is. */
export function byPassword(
  deps: Deps,
  { email, pools, user, users }: { email: string; pools: readonly string[]; user?: PooledUser; users: readonly PooledUser[] },
): WayIn {
  const lockKeys = (of: readonly string[]) => addressKeys(deps.config.encryptionKeys[0], email, of)
  // Where somebody else has the address too, failures may be guesses at that user's password.
  const ofOthers = poolsOf(users.filter(({ id }) => id !== user?.id))
  const clearedKeys = lockKeys(pools.filter((pool) => !ofOthers.includes(pool)))
  return { limitKey: limitKey(deps, email, 'password'), lockKeys: lockKeys(pools), clearedKeys }
}

/** With a password, on a device that has logged this user in before. */
export function byKnownDevice(deps: Deps, { id, email }: PooledUser, device: string): WayIn {
  const key = deviceKey(id, device)
  return { limitKey: limitKey(deps, email, 'device', device), lockKeys: [key], clearedKeys: [key], device: key }
}

/** With something that nobody can guess, where a wrong second-factor code is all that fails. */
export function byToken(deps: Deps, email: string, kind: 'magic_link' | 'provider'): WayIn {
  return { limitKey: limitKey(deps, email, kind), lockKeys: [], clearedKeys: [] }
}

/** Kept per address, whether or not anybody has it, and under a digest of it. */
function limitKey(deps: Deps, email: string, ...way: readonly string[]): string {
  return `account:${keyedDigest(deps.config.encryptionKeys[0], 'account-limit', email, ...way)}`
}
