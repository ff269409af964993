import type { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, OwnCaller, PersonCaller, UserCaller } from '../../lib/caller.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import type { Membership } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import { BrowserSession, type LiveBrowserSession } from '../../models/browser-session.ts'
import { type SelfRow, Session, type SessionRow } from '../../models/session.ts'
import { recordEvent } from '../audit/record-event.ts'
import { endAllTokens, endSession } from '../revocations/end-tokens.ts'
import { assertMayHelp } from '../users/administration.ts'
import { type ShownUser, shownUserOf } from '../users/present.ts'
import { getUser, lockUser, lockUserRow } from '../users/users.ts'
import { callerOf } from './authenticate-caller.ts'
import { type BrowserSecrets, endBrowserSession, renewSecrets } from './browser-sessions.ts'
import { membershipOf } from './rights.ts'
import type { sessionRecord } from './schema.ts'

/** The sessions of a user that are alive, newest first. `currentId` is the session of the caller. */
export async function listSessions(
  deps: Deps,
  { userId, currentId }: { userId: string; currentId: string | undefined },
  request: PageRequest,
): Promise<Page<z.output<typeof sessionRecord>>> {
  const now = deps.clock()
  const ofApps = (await Session.listAlive(deps.db, userId, request, now)).map((row) => ({ ...row, kind: 'app' as const }))
  const ofBrowsers = (await BrowserSession.listAlive(deps.db, userId, request, now)).map((row) => ({
    ...row,
    kind: 'browser' as const,
    app_id: null,
    app_code: null,
  }))
  const rows = [...ofApps, ...ofBrowsers].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, rowsToRead(request))
  const { items, nextCursor } = pageOf(rows, request, (row) => row.id)
  return { items: items.map((row) => presentSession(row, currentId)), nextCursor }
}

function presentSession(
  { app_id, app_code, ...row }: SessionRow & { kind: 'app' | 'browser' },
  currentId: string | undefined,
): z.output<typeof sessionRecord> {
  return {
    ...row,
    app: app_id !== null && app_code !== null ? { id: app_id, code: app_code } : null,
    created_at: iso(row.created_at),
    last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at),
    current: row.id === currentId,
  }
}

/** Like `listSessions`, for an admin, who may name any user. Throws `not_found` if there is no such user. */
export async function listUserSessions(
  deps: Deps,
  of: { userId: string; currentId: string | undefined },
  request: PageRequest,
): Promise<Page<z.output<typeof sessionRecord>>> {
  await getUser(deps, of.userId)
  return listSessions(deps, of, request)
}

/**
 * Ends one session of a user; with a browser session, also the app sessions that it opened. Throws `not_found` if the session has
 * ended or belongs to another user.
 */
export async function endUserSession(
  deps: Deps<Pool>,
  { userId, sessionId }: { userId: string; sessionId: string },
  actor: Actor,
): Promise<void> {
  const ofBrowser = await BrowserSession.find(deps.db, { id: sessionId, user_id: userId, ended_at: null }).select('id')
  if (ofBrowser)
    return transaction(deps, (deps) => endBrowserSession(deps, { id: sessionId, reason: 'session.ended', withApps: true }, actor))
  const session = await Session.find(deps.db, { id: sessionId, ended_at: null })
  if (session?.user_id !== userId) throw new ApiError('not_found', { detail: 'The user has no such session' })
  await endSession(deps, session, 'session.ended', actor)
}

/** Ends every session of a user and kills every access token, in all apps. Throws `not_found`. */
export async function logOutEverywhere(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockUser(deps, userId)
    await assertMayHelp(deps, userId, actor)
    await endSessions(deps, userId, actor)
  })
}

/** Like `logOutEverywhere`, for the caller's own sessions. Throws `token_revoked` if this one ended in the meantime. */
export async function logOutSelf(deps: Deps<Pool>, actor: Actor & { caller: UserCaller }): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockSelf(deps, actor.caller)
    await endSessions(deps, actor.caller.userId, actor)
  })
}

/** Ends every session of a person but the browser session in which they ask for it. Throws `token_revoked` if that has ended. */
export async function logOutElsewhere(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  actor: Actor & { caller: PersonCaller },
): Promise<BrowserSecrets> {
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    return renewSecrets(deps, live, await endSessions(deps, live.user_id, actor))
  })
}

/** The same, in a transaction that has locked the user. Returns the new minimum token version. */
export async function endSessions(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  await recordEvent(deps, { event: 'logout.all', actor, userId })
  return endAllTokens(deps, { userId, reason: 'logout.all' })
}

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
 * Locks the row of the caller's user until the transaction ends, and reads the caller again. If the account was taken over or
 * closed, or its password changed, after the call was authenticated, its session has ended and must not change anything. Throws
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
  return rows.flatMap((row) => membershipOf(row) ?? []).sort((one, other) => (one.slug < other.slug ? -1 : 1))
}
