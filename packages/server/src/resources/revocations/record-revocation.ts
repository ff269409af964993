import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { notifyAtCommit } from '../../db/notify.ts'
import type { Deps } from '../../deps.ts'
import { Revocation } from '../../models/revocation.ts'
import { Service } from '../../models/service.ts'

/** What local validators must learn: a floor under `tv` of a user, the end of one session, or a floor under `iat` of an app. */
type NewRevocation =
  | { userId: string; appId: string | null; sessionId: string | null; minTokenVersion: number | null }
  | { appId: string; minIat: number }

/** Writes a revocation. All writers take one lock, so that cursors become visible in order and a reader skips none. */
export async function recordRevocation(deps: Deps<Tx>, revocation: NewRevocation): Promise<void> {
  // A rehearsal would hold up every revocation of the service until it ends, for a row that is rolled back.
  if (deps.isRehearsal) return
  await lockUntilCommit(deps.db, 'revocations')
  const about =
    'minIat' in revocation
      ? { user_id: null, session_id: null, min_tv: null, min_iat: revocation.minIat }
      : {
          user_id: revocation.userId,
          session_id: revocation.sessionId,
          min_tv: revocation.minTokenVersion,
          min_iat: null,
        }
  await announce(deps, await Revocation.insert(deps.db, { ...about, app_id: revocation.appId, at: deps.clock() }))
}

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
