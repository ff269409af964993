import { type Deps, rehearsing } from '../deps.ts'
import { asPool, asTx, type Pool, type Tx } from './handle.ts'

/**
 * Runs `fn` in one transaction. What runs inside takes `Deps<Tx>`, so it cannot open another. Nothing over the network and no hash
 * belongs in it.
 */
export async function transaction<T>(deps: Deps<Pool>, fn: (deps: Deps<Tx>) => Promise<T>): Promise<T> {
  const afterCommit: (() => void)[] = []
  const result = await deps.db.transaction((db) => fn({ ...deps, db: asTx(db), afterCommit }))
  // In a rehearsal this was a savepoint: nothing is committed.
  if (!deps.isRehearsal) for (const run of afterCommit) run()
  return result
}

/**
 * Runs `fn` in one transaction that is always rolled back, and returns what it returned. It stands in for the pool: the transactions that
 * `fn` opens are savepoints of it, so that one that fails leaves the others usable, and what waits for their commit never runs.
 */
export async function rehearsal<T>(deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<T>): Promise<T> {
  const db = await deps.db.transaction()
  try {
    return await fn({ ...rehearsing(deps), db: asPool(db) })
  } finally {
    await db.rollback()
  }
}
