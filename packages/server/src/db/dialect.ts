import type { Knex } from 'knex'

/** A client class of knex, with the members that a subclass here uses. */
export type Dialect<C> = Pick<typeof Knex.Client, keyof typeof Knex.Client> &
  (new (
    config: Knex.Config<object>,
  ) => Knex.Client & C)
