import type { Pool } from '../../db/handle.ts'
import { rehearsal } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { bcryptCost } from '../../lib/password-hash.ts'

/**
 * Runs `fn` in a transaction that is always taken back, and returns what it returned. It finds every password right that a user
 * could have, and its log is silent. All that a login leaves behind, its counts, audit events and outbox included, are rows, so
 * nothing of it stays.
 */
export async function rehearse<T>(deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<T>): Promise<T> {
  const logger = deps.logger.child({}, { level: 'silent' })
  return rehearsal(deps, (deps) => fn({ ...deps, logger, passwords: anyPassword(deps.passwords) }))
}

/** Stands in for the password that an admin cannot know: right for whoever has one. */
function anyPassword(passwords: Deps['passwords']): Deps['passwords'] {
  return {
    ...passwords,
    verify: async (_password, hash) => typeof hash === 'string' && bcryptCost(hash) !== undefined,
  }
}
