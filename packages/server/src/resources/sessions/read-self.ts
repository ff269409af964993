import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { OwnCaller, UserCaller } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { wordsIn } from '../../lib/words.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { type SelfRow, Session } from '../../models/session.ts'
import { lockUserRow } from '../users/get-user.ts'
import { type ShownUser, shownUserOf } from '../users/present.ts'
import { callerOf } from './authenticate-caller.ts'

/** A caller with the rows that the same statement read about them. */
export interface SelfCaller extends UserCaller {
  rows: [SelfRow, ...SelfRow[]]
}

/** Reads the caller whose token has these claims. Throws `token_invalid`, `token_revoked`. */
export async function readSelf(deps: Deps, claims: UserCaller['claims']): Promise<SelfCaller> {
  const [first, ...others] = await Session.listSelf(deps.db, claims.sid)
  if (!first) throw new ApiError('token_revoked')
  return { ...callerOf(deps, first, claims), rows: [first, ...others] }
}

/**
 * Locks the row of the caller's user until the transaction ends, and reads the caller again. If the account was claimed or closed,
 * or its password changed, after the call was authenticated, its session has ended and must not change anything. Throws
 * `token_revoked`.
 */
export async function lockSelf(deps: Deps<Tx>, { userId, claims }: Pick<UserCaller, 'userId' | 'claims'>): Promise<SelfCaller> {
  await lockUserRow(deps, userId)
  return readSelf(deps, claims)
}

/** The same for somebody who may be on the account page, where the browser session must still be alive. Throws `token_revoked`. */
export async function lockOwner(deps: Deps<Tx>, caller: OwnCaller): Promise<void> {
  if (caller.sessionId !== null) {
    await lockSelf(deps, caller)
    return
  }
  const { userId, browserSessionId: id } = caller
  await lockUserRow(deps, userId)
  if (!(await BrowserSession.isAlive(deps.db, { id, user_id: userId, now: deps.clock() }))) throw new ApiError('token_revoked')
}

export function userOfSelf({ rows }: SelfCaller): ShownUser {
  return shownUserOf(rows[0])
}

/** The memberships of the caller, by slug. */
export function membershipsIn({ rows }: SelfCaller): Membership[] {
  const memberships = rows.flatMap((row) => {
    if (row.organization_id === null) return []
    const { organization_id: id, organization_slug: slug, organization_name: name } = row
    return [{ id, slug, name, role_codes: wordsIn(row.organization_roles) }]
  })
  return memberships.sort((one, other) => (one.slug < other.slug ? -1 : 1))
}
