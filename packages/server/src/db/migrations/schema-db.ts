import type { Knex } from 'knex'

/** What a migration works on: it defines tables and runs SQL, but reads no rows. */
export interface SchemaDb extends Pick<Knex, 'schema' | 'transaction'> {
  readonly client: { readonly driverName: string }
  raw(sql: string): PromiseLike<unknown>
}

/** An index of a table that may be large. Names and expressions are SQL. */
export interface NewIndex {
  name: string
  table: string
  /** As they stand in the parentheses, such as `user_id, id`. */
  columns: string
  isUnique?: boolean
  where?: string
  /** Only on Postgres, and only where it has no index of this name. */
  onPostgresWithout?: string
}

/** What the operator has to put right before the migration, with the version that runs now. */
export interface Refusal {
  /** Selects what is in the way, as one text per row. */
  rows: string
  fault: string
  cure: string
}

/**
 * Makes indexes, and then changes the schema in one transaction. On a Postgres in use an index is made outside of a transaction, so
 * that the table can be written meanwhile.
 */
export interface Migration {
  /** Of columns that are already there. */
  indexes?: readonly NewIndex[]
  up?(db: SchemaDb): Promise<void>
  /** Asked before anything is migrated, and after the built-in rows were made. The tables must be those of the first version. */
  refusals?: readonly Refusal[]
  /** The oldest version of the server that runs on the schema after it, such as `0.1.0`. Those before it refuse to start. */
  oldestVersion?: string
}
