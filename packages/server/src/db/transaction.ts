import type { Deps } from '../deps.ts'
import { asPool, asTx, type Pool, type Tx } from './handle.ts'

/**
 * Runs `fn` in one transaction. What runs inside takes `Deps<Tx>`, so it cannot open another. Nothing over the network and no hash
 * belongs in it.
 */
export async function transaction<T>(deps: Deps<Pool>, fn: (deps: Deps<Tx>) => Promise<T>): Promise<T> {
  // In a rehearsal, whose transaction stands in for the pool.
  if (deps.db.isTransaction) return fn({ ...deps, db: asTx(deps.db) })
  const afterCommit: (() => void)[] = []
  const result = await deps.db.transaction((db) => fn({ ...deps, db: asTx(db), afterCommit }))
  for (const run of afterCommit) run()
  return result
}

/**
 * Runs `fn` in one transaction that is always taken back, and returns what it returned. It stands in for the pool: the transactions that
 * `fn` opens are parts of it, and what waits for their commit never runs.
 */
export async function rehearsal<T>(deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<T>): Promise<T> {
  const db = await deps.db.transaction()
  try {
    return await fn({ ...deps, db: asPool(db) })
  } finally {
    await db.rollback()
  }
}
