import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { addressPrefix, devicePrefix, poolOfKey, secondFactorKey, sessionPrefix } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import { Lockout } from '../../models/lockout.ts'
import { listUsersOfEmail } from '../users/find-user-in-pools.ts'

interface Forgotten {
  failures: number
  isLocked: boolean
}

/**
 * Clears the wrong passwords of a user and their locks: those of the address, except in pools where another user has it, and
 * those of the user's devices and sessions. With `secondFactor` it clears wrong codes too. Returns what it cleared, or undefined if there was
 * nothing.
 */
export async function forgetFailures(
  deps: Deps<Tx>,
  user: { id: string; email: string },
  { secondFactor }: { secondFactor: boolean },
): Promise<Forgotten | undefined> {
  const others = (await listUsersOfEmail(deps, user.email)).users.filter(({ id }) => id !== user.id)
  // Failures in the pools of another user with this address may be guesses at that user's password.
  const ofOthers = poolsOf(others)
  const ofAddress = await Lockout.listByPrefixForUpdate(deps.db, addressPrefix(deps.config.encryptionKeys[0], user.email))
  const rows = [
    ...ofAddress.filter(({ key }) => !ofOthers.includes(poolOfKey(key)!)),
    ...(await Lockout.listByPrefixForUpdate(deps.db, devicePrefix(user.id))),
    ...(await Lockout.listByPrefixForUpdate(deps.db, sessionPrefix(user.id))),
    ...(secondFactor ? await Lockout.listLocksForUpdate(deps.db, [secondFactorKey(user.id)]) : []),
  ]
  if (rows.length === 0) return undefined
  await Lockout.clear(
    deps.db,
    rows.map(({ key }) => key),
  )
  const now = deps.clock()
  return {
    failures: Math.max(...rows.map(({ failures }) => failures)),
    isLocked: rows.some(({ locked_until }) => locked_until !== null && locked_until > now),
  }
}
