import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { laterOrigin } from '../../lib/feed-cursors.ts'
import { Feed, lineageOf } from '../../models/feed.ts'
import { Revocation, revocationFeed } from '../../models/revocation.ts'

/** Restarts the feed with a floor under `iat` of all tokens. Readers with an older cursor forget what they know. */
export async function restartFeed(deps: Deps<Tx>, minIat: number): Promise<void> {
  await Feed.lock(deps.db, revocationFeed)
  await beginLater(deps, 0)
  await Revocation.startOver(deps.db, { minIat, at: deps.clock() })
  announce(deps)
}

/**
 * Continues the feed after a failover, or in another Postgres. That one may lack the last commits, and give their numbers to other
 * transactions. So all cursors are later from now on, and readers with an older one start over. If several servers call it, only
 * the first one changes anything. `known` is the last cursor that this server has given.
 */
export async function continueFeed(deps: Deps<Tx>, known: number): Promise<void> {
  await Feed.lock(deps.db, revocationFeed)
  const { lineage, snapshot } = await Feed.getState(deps.db, revocationFeed)
  if (lineage === lineageOf(deps.db)) return
  await Revocation.forgetTransactionsFrom(deps.db, snapshot.xmax)
  await beginLater(deps, known)
  announce(deps)
}

async function beginLater({ db, clock }: Deps<Tx>, known: number): Promise<void> {
  const { cursors, snapshot } = await Feed.getState(db, revocationFeed)
  const now = { horizon: snapshot.xmax, position: snapshot.xmin, at: clock(), known }
  await Feed.begin(db, revocationFeed, laterOrigin(cursors.origin, now))
}

/** Makes every server look at its streams again after the commit: the keys of an app change. */
export function reviewStreams(deps: Deps<Tx>): void {
  announce(deps)
}

function announce(deps: Deps<Tx>): void {
  deps.afterCommit?.push(() => deps.revocationHub.announce())
}
