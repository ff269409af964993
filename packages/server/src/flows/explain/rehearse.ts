import type { Pool } from '../../db/handle.ts'
import { rehearsal } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { bcryptCost } from '../../lib/password-hash.ts'

/**
 * Runs `fn` in a transaction that is always rolled back, and returns its result. Inside, any password is correct for a user who
 * has one, and nothing is logged. A login writes only rows, including its counts, audit events and outbox messages, so nothing of
 * it remains.
 */
export async function rehearse<T>(deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<T>): Promise<T> {
  const logger = deps.logger.child({}, { level: 'silent' })
  return rehearsal(deps, (deps) => fn({ ...deps, logger, passwords: anyPassword(deps.passwords) }))
}

/** Accepts any password for a user who has one, since an admin cannot know it. */
function anyPassword(passwords: Deps['passwords']): Deps['passwords'] {
  return {
    ...passwords,
    verify: async (_password, hash) => typeof hash === 'string' && bcryptCost(hash) !== undefined,
  }
}
