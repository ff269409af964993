import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { notifyAtCommit } from '../../db/notify.ts'
import type { Deps } from '../../deps.ts'
import { Revocation } from '../../models/revocation.ts'
import { Service } from '../../models/service.ts'

/**
 * Restarts the feed with a floor under `iat` of all tokens. Readers with an older cursor forget what they know. Call it last in a
 * transaction.
 */
export async function restartFeed(deps: Deps<Tx>, minIat: number): Promise<void> {
  await lockUntilCommit(deps.db, 'revocations')
  const cursor = await Revocation.startOver(deps.db, { minIat, at: deps.clock() })
  await Service.setFirstCursor(deps.db, cursor)
  await announce(deps, cursor)
}

/**
 * Continues the feed after a failover, and returns its first cursor. The new primary may lack the last commits of the former one
 * and give their cursors to other rows. So all rows get later cursors, and readers with an older cursor start over. If several
 * servers call it, only the first one changes anything. `head` is the last cursor that this server knows of the former primary.
 * Call it last in a transaction.
 */
export async function continueFeed(deps: Deps<Tx>, head: number): Promise<number> {
  await lockUntilCommit(deps.db, 'revocations')
  const { first } = await Revocation.readBounds(deps.db)
  if (first > head) return first
  const cursor = await Revocation.moveBeyond(deps.db, { at: deps.clock(), known: head })
  await Service.setFirstCursor(deps.db, cursor)
  await announce(deps, cursor)
  return cursor
}

/** Makes every server look at its streams again after the commit: the keys of an app change. */
export async function reviewStreams(deps: Deps<Tx>): Promise<void> {
  if (!deps.isRehearsal) await announce(deps, 'keys')
}

async function announce(deps: Deps<Tx>, what: number | 'keys'): Promise<void> {
  await notifyAtCommit(deps.db, 'gatehouse_revocations', String(what))
  deps.afterCommit?.push(() => deps.revocationHub.wake())
}
