import type { Knex } from 'knex'

/** What a migration works on: it defines tables and runs SQL, but reads no rows. */
export interface SchemaDb extends Pick<Knex, 'schema' | 'transaction'> {
  readonly client: { readonly driverName: string }
  raw(sql: string): PromiseLike<unknown>
}
