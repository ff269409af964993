import { isPostgres, type Pool } from './db/handle.ts'
import type { Deps } from './deps.ts'
import { hasKeyOfAudit } from './resources/audit/chain.ts'

/** The service cannot start. The message is for the operator. */
export class StartError extends Error {}

/** Throws StartError if there are pending migrations that `serve` may not run. */
export function assertMigratable(deps: Deps, pending: readonly string[]): void {
  if (pending.length === 0 || !isPostgres(deps.db) || deps.config.autoMigrate) return
  throw new StartError(`the database lacks ${pending.join(', ')}; run: gatehouse migrate`)
}

/**
 * Throws StartError if AUTH_ENCRYPTION_KEY is that of another database. With it, nobody could read what is sealed here, or verify
 * the audit events that are written from now on. A new database takes the key. The tables must be up to date.
 */
export async function assertKeyFits(deps: Deps<Pool>): Promise<void> {
  if (await hasKeyOfAudit(deps)) return
  const [, previous] = deps.config.encryptionKeys
  const isWrong = previous
    ? 'neither AUTH_ENCRYPTION_KEY nor AUTH_ENCRYPTION_KEY_PREVIOUS is the key'
    : 'AUTH_ENCRYPTION_KEY is not the key'
  throw new StartError(
    `${isWrong} of this database. Set the key that its servers use, as AUTH_ENCRYPTION_KEY_PREVIOUS if you are replacing it; ` +
      'if that key is lost, see docs/operate/sealed-audit.md',
  )
}
