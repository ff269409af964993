import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { notifyAtCommit } from '../../db/notify.ts'
import type { Deps } from '../../deps.ts'
import { Revocation } from '../../models/revocation.ts'

/** What local validators have to learn: a floor under `tv`, or the end of one session. */
interface NewRevocation {
  userId: string
  appId: string | null
  sessionId: string | null
  minTokenVersion: number | null
}

/** Written under one lock, so that cursors become visible in the order of their numbers and a reader skips none. */
export async function recordRevocation(deps: Deps<Tx>, revocation: NewRevocation): Promise<void> {
  // A rehearsal would hold up every revocation of the service until it is over, for a row that nobody reads.
  if (deps.isRehearsal) return
  await lockUntilCommit(deps.db, 'revocations')
  const cursor = await Revocation.insert(deps.db, {
    user_id: revocation.userId,
    app_id: revocation.appId,
    session_id: revocation.sessionId,
    min_tv: revocation.minTokenVersion,
    at: deps.clock(),
  })
  await notifyAtCommit(deps.db, 'gatehouse_revocations', String(cursor))
  deps.afterCommit?.push(() => deps.revocationHub.wake())
}
