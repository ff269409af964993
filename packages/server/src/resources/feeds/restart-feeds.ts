import type { Db, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { laterOrigin } from '../../lib/feed-cursors.ts'
import { Feed, type FeedTable, forgetTransactionsFrom, lineageOf } from '../../models/feed.ts'
import { Revocation, revocationFeed } from '../../models/revocation.ts'
import { userChangeFeed } from '../../models/user-change.ts'

const feeds = [revocationFeed, userChangeFeed]

/** Restarts the feeds, with a floor under `iat` of all tokens. Readers with an older cursor forget what they know. */
export async function restartFeeds(deps: Deps<Tx>, minIat: number): Promise<void> {
  for (const feed of feeds) {
    await Feed.lock(deps.db, feed)
    await beginLater(deps, feed, 0)
  }
  await Revocation.startOver(deps.db, { minIat, at: deps.clock() })
  announce(deps)
}

/** Records which history of commits the feeds are of. False if one of them is of another than the database continues. */
export async function adoptFeeds(db: Db): Promise<boolean> {
  let areOfThis = true
  for (const feed of feeds) areOfThis = (await Feed.adopt(db, feed)) && areOfThis
  return areOfThis
}

/**
 * Continues the feeds after a failover, or in another Postgres. That one may lack the last commits, and give their numbers to other
 * transactions. So all cursors are later from now on, and readers with an older one start over. If several servers call it, only
 * the first one changes anything. `known` is the last cursor of a revocation that this server has given.
 */
export async function continueFeeds(deps: Deps<Tx>, known: number): Promise<void> {
  for (const feed of feeds) {
    await Feed.lock(deps.db, feed)
    const { lineage } = await Feed.getState(deps.db, feed)
    if (lineage !== lineageOf(deps.db)) await beginLater(deps, feed, feed === revocationFeed ? known : 0)
  }
  announce(deps)
}

async function beginLater({ db, clock }: Deps<Tx>, feed: FeedTable, known: number): Promise<void> {
  const { cursors, snapshot } = await Feed.getState(db, feed)
  await forgetTransactionsFrom(db, feed, snapshot.xmax)
  const now = { horizon: snapshot.xmax, position: snapshot.xmin, at: clock(), known }
  await Feed.begin(db, feed, laterOrigin(cursors.origin, now))
}

/**
 * Wakes the readers of the feeds of this server and of others, after the commit where there is a transaction. They also look at their
 * streams again, which end when the keys of their app have changed.
 */
export function announce(deps: Deps): void {
  const wake = () => deps.revocationHub.announce()
  if (deps.afterCommit) deps.afterCommit.push(wake)
  else wake()
}
