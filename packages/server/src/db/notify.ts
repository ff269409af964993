import { type Db, isPostgres, primaryOf, type Tx } from './handle.ts'
import { type Listener, listen, type MessageListener } from './listen.ts'

type Channel = 'gatehouse_revocations'

/** Notifies every server that shares the database when this transaction commits. `listenFor` receives it. */
export async function notifyAtCommit(db: Tx, channel: Channel, payload: string): Promise<void> {
  if (isPostgres(db)) await db.raw('select pg_notify(?, ?)', [channel, payload])
}

/** Receives these notifications, on a connection outside the pool. Undefined on SQLite, which has one server. */
export function listenFor(db: Db, channel: Channel, ears: MessageListener): Listener | undefined {
  const primary = primaryOf(db)
  return primary && listen(primary, channel, ears)
}
