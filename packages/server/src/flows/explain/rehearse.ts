import type { Deps } from '../../deps.ts'
import { bcryptCost } from '../../lib/password-hash.ts'

/**
 * Runs `fn` in a transaction that is always taken back, and returns what it returned. It finds every password right that a user
 * could have, and its log is silent. All that a login leaves behind, its counts, audit events and outbox included, are rows, so
 * nothing of it stays.
 */
export async function rehearse<T>(deps: Deps, fn: (deps: Deps) => Promise<T>): Promise<T> {
  if (deps.db.isTransaction) throw new Error('a rehearsal inside a transaction would take that one back')
  const db = await deps.db.transaction()
  try {
    const logger = deps.logger.child({}, { level: 'silent' })
    return await fn({ ...deps, db, logger, passwords: anyPassword(deps.passwords) })
  } finally {
    await db.rollback()
  }
}

/** Stands in for the password that an admin cannot know: right for whoever has one. */
function anyPassword(passwords: Deps['passwords']): Deps['passwords'] {
  return {
    cost: passwords.cost,
    queueLength: 0,
    verify: async (_password, hash) => typeof hash === 'string' && bcryptCost(hash) !== undefined,
    needsUpgrade: () => false,
    hash: (password) => passwords.hash(password),
    warmUp: () => passwords.warmUp(),
    close: () => passwords.close(),
  }
}
