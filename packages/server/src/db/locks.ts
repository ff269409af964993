import { createHash } from 'node:crypto'
import { isPostgres, type Tx } from './handle.ts'

type LockKind = 'email' | 'identity' | 'organization' | 'bootstrap' | 'system_admins' | 'permission_codes' | 'revocations'

/**
 * Makes everyone who names the same thing wait until this transaction ends. SQLite's one writer waits anyway.
 * Locks of one transaction are taken in the order given by the caller: where there are several, sort them.
 */
export async function lockUntilCommit(db: Tx, kind: LockKind, name = ''): Promise<void> {
  await lockAllUntilCommit(db, kind, [name])
}

/** The same for several names in one step, in the order given. */
export async function lockAllUntilCommit(db: Tx, kind: LockKind, names: readonly string[]): Promise<void> {
  if (!isPostgres(db) || names.length === 0) return
  const keys = names.map((name) => createHash('sha256').update(`${kind}:${name}`).digest().readBigInt64BE())
  await db.raw('select count(pg_advisory_xact_lock(key)) from unnest(?::bigint[]) as key', [`{${keys.join()}}`])
}

/** Adds `for key share`: a row that others refer to cannot be deleted until this transaction ends; everything else goes on. */
export function keptFromDeletion<Q extends { forKeyShare(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forKeyShare() : query
}

/** Adds `for share`: the row stays as it is until this transaction ends; others may read it so too. */
export function forShare<Q extends { forShare(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forShare() : query
}

/** Adds `for update` where the database has row locks; SQLite's transaction holds its one write lock already. */
export function forUpdate<Q extends { forUpdate(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forUpdate() : query
}

/** The same for the rows that nobody else has locked; the others are passed over. */
export function forUpdateOfUnlocked<Q extends { forUpdate(): Q; skipLocked(): Q }>(db: Tx, query: Q): Q {
  return isPostgres(db) ? query.forUpdate().skipLocked() : query
}
