import { createHash } from 'node:crypto'
import { isPostgres, type Tx } from './handle.ts'
import { Statement } from './statement.ts'

const locking = new Statement('select count(pg_advisory_xact_lock(key)) from unnest(cast(:keys as bigint[])) as key')

type LockKind = 'email' | 'identity' | 'organization' | 'bootstrap' | 'system_admins' | 'permission_codes'

/**
 * Makes other transactions that lock the same name wait until this one ends. On SQLite they wait anyway, since there is only one
 * writer. If a transaction takes several locks, it must take them in sorted order.
 */
export async function lockUntilCommit(db: Tx, kind: LockKind, name = ''): Promise<void> {
  await lockAllUntilCommit(db, kind, [name])
}

/** Locks several names in one statement, in the order given. Sort them first. */
export async function lockAllUntilCommit(db: Tx, kind: LockKind, names: readonly string[]): Promise<void> {
  if (!isPostgres(db) || names.length === 0) return
  const keys = names.map((name) => createHash('sha256').update(`${kind}:${name}`).digest().readBigInt64BE())
  await locking.first(db, { keys: `{${keys.join()}}` })
}

/** Adds `for key share`: the row cannot be deleted until this transaction ends. Everything else goes on. */
export function keptFromDeletion<Q extends { forKeyShare(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forKeyShare() : query
}

/** Adds `for no key update`: the row cannot change until this transaction ends, and others may still refer to it. */
export function forNoKeyUpdate<Q extends { forNoKeyUpdate(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forNoKeyUpdate() : query
}

/** Adds `for share`: the row cannot change until this transaction ends. Others may take the same lock. */
export function forShare<Q extends { forShare(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forShare() : query
}

/** Adds `for update` on Postgres. On SQLite the transaction already holds the only write lock. */
export function forUpdate<Q extends { forUpdate(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forUpdate() : query
}

/** Adds `for update skip locked` on Postgres: skips rows that another transaction has locked. */
export function forUpdateOfUnlocked<Q extends { forUpdate(): Q; skipLocked(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forUpdate().skipLocked() : query
}
