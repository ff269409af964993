import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { notifyAtCommit } from '../../db/notify.ts'
import type { Deps } from '../../deps.ts'

/** What local validators have to learn (decisions 6): a floor under `tv`, or the end of one session. */
interface Revocation {
  userId: string
  appId: string | null
  sessionId: string | null
  minTokenVersion: number | null
}

/** Written under one lock, so that cursors become visible in the order of their numbers and a reader skips none. */
export async function recordRevocation(deps: Deps<Tx>, revocation: Revocation): Promise<void> {
  await lockUntilCommit(deps.db, 'revocations')
  const [written] = await deps
    .db('revocations')
    .insert({
      user_id: revocation.userId,
      app_id: revocation.appId,
      session_id: revocation.sessionId,
      min_tv: revocation.minTokenVersion,
      at: deps.clock(),
    })
    .returning('cursor')
  await notifyAtCommit(deps.db, 'gatehouse_revocations', String(written.cursor))
  deps.afterCommit?.push(() => deps.revocationHub.wake())
}
