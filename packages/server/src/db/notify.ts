import { type Db, isPostgres, type Pool, primaryOf } from './handle.ts'
import { type Listener, listen, type MessageListener } from './listen.ts'

type Channel = 'gatehouse_revocations'

/**
 * Notifies every server that shares the database. Never do so in a transaction: Postgres would hold a lock, across all of its
 * databases, until the commit. `listenFor` receives it.
 */
export async function notify(db: Pool, channel: Channel, payload: string): Promise<void> {
  if (isPostgres(db)) await db.raw('select pg_notify(?, ?)', [channel, payload])
}

/** Receives these notifications, on a connection outside the pool. Undefined on SQLite, which has one server. */
export function listenFor(db: Db, channel: Channel, ears: MessageListener): Listener | undefined {
  const primary = primaryOf(db)
  return primary && listen(primary, channel, ears)
}

/**
 * Whether a server of the previous version is connected to this Postgres, as far as this role sees. Its connection for
 * notifications has another name than ours.
 */
export async function hasOlderListener(db: Db): Promise<boolean> {
  const name = { datname: db.raw('current_database()'), application_name: 'gatehouse-listener' }
  return (await db('pg_stat_activity').where(name).first('pid')) !== undefined
}
