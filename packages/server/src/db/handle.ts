import type { Knex } from 'knex'
import type { Primary } from './primary.ts'

declare const inTransaction: unique symbol

/** The connections of the database. Each statement runs on one of them, as a separate transaction. */
export type Pool = Knex & { readonly [inTransaction]: false }

/** An open transaction, made by `transaction`. A function that writes more than one row, or locks, takes this. */
export type Tx = Knex.Transaction & { readonly [inTransaction]: true }

/** Either of the two. A function that reads takes this. */
export type Db = Pool | Tx

/** The handle as a transaction. Throws if it is not one. */
export function asTx(db: Knex): Tx {
  if (!isTx(db)) throw new Error('the handle is not in a transaction')
  return db
}

export function isTx(db: Knex): db is Tx {
  return db.isTransaction === true
}

/** The handle as the pool. For `createKnex`, and for a rehearsal, whose transaction stands in for the pool. */
export function asPool(db: Knex): Pool {
  return db as Pool
}

export function isPostgres(db: Pick<Knex, 'client'>): boolean {
  const { driverName }: { driverName: string } = db.client
  return driverName === 'pg'
}

/** The part of knex's pool that is used here. */
interface Connections {
  numUsed(): number
  numFree(): number
  numPendingAcquires(): number
}

/** The connections of the pool, and how many requests wait for one. */
export function connectionsOf(db: Pool): { used: number; free: number; wanted: number } {
  const { pool }: { pool?: Connections } = db.client
  // A closed database has no pool.
  return pool
    ? { used: pool.numUsed(), free: pool.numFree(), wanted: pool.numPendingAcquires() }
    : { used: 0, free: 0, wanted: 0 }
}

/** Increases when the database fails over. Data that was read before may come from a history that was abandoned. */
export function eraOf(db: Db): number {
  return primaryOf(db)?.era ?? 0
}

/** What the process knows of the primary; undefined on SQLite. */
export function primaryOf(db: Pick<Knex, 'client'>): Primary | undefined {
  const { config }: { config: { primary?: Primary } } = db.client
  return config.primary
}
