import { type Deps, rehearsing } from '../deps.ts'
import { RevocationNotes } from '../lib/revocation-notes.ts'
import { asPool, asTx, type Pool, type Tx } from './handle.ts'

/**
 * Runs `fn` in one transaction. Code inside takes `Deps<Tx>`, so it cannot open another. Do not use the network or hash passwords
 * in it. Revocations that `fn` notes are written last, all at once.
 */
export async function transaction<T>(deps: Deps<Pool>, fn: (deps: Deps<Tx>) => Promise<T>): Promise<T> {
  const afterCommit: (() => void)[] = []
  const revocations = new RevocationNotes()
  const { noted } = revocations
  const result = await deps.db.transaction(async (knex) => {
    const db = asTx(knex)
    const result = await fn({ ...deps, db, afterCommit, revocations })
    if (noted.length > 0 && !deps.isRehearsal) await deps.writeRevocations(db, noted, deps.clock())
    return result
  })
  if (noted.length > 0) afterCommit.push(() => deps.revocationHub.announce())
  // In a rehearsal this was a savepoint, so nothing is committed.
  if (!deps.isRehearsal) for (const run of afterCommit) run()
  return result
}

/**
 * Runs `fn` in one transaction that is always rolled back, and returns what it returned. The transaction stands in for the pool.
 * Those that `fn` opens are savepoints of it, so that one that fails leaves the others usable, and callbacks that wait for their
 * commit never run.
 */
export async function rehearsal<T>(deps: Deps<Pool>, fn: (deps: Deps<Pool>) => Promise<T>): Promise<T> {
  const db = await deps.db.transaction()
  try {
    return await fn({ ...rehearsing(deps), db: asPool(db) })
  } finally {
    await db.rollback()
  }
}
