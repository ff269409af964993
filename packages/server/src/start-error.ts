import { isPostgres } from './db/handle.ts'
import type { Deps } from './deps.ts'

/** The service cannot start. The message is for the operator. */
export class StartError extends Error {}

/** Throws StartError if there are pending migrations that `serve` may not run. */
export function assertMigratable(deps: Deps, pending: readonly string[]): void {
  if (pending.length === 0 || !isPostgres(deps.db) || deps.config.autoMigrate) return
  throw new StartError(`the database lacks ${pending.join(', ')}; run: gatehouse migrate`)
}
