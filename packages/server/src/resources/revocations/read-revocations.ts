import type { Deps } from '../../deps.ts'
import type { FeedForm } from '../../lib/caller.ts'
import { Revocation, type RevocationRow } from '../../models/revocation.ts'

/** How far local validators look back. Longer than any access token lives, so older revocations concern no live token. */
export const revocationKeepMs = 3_660_000

export interface FeedPage {
  rows: RevocationRow[]
  /** Where to continue. Everything up to here was returned or concerns other apps. */
  cursor: number
  hasMore: boolean
  /** The cursor of the caller is not one of this database, so what the caller knows is from another one. */
  isReset: boolean
}

/**
 * The revocations after a cursor for the consumers of an app, in the order of their cursors; all live ones without a cursor. Rows
 * become visible in that order (`Revocation.write`), so no row below the newest cursor can appear later.
 */
export async function readRevocations(
  deps: Deps,
  input: { appId: string; since: number | undefined; limit: number; form: FeedForm },
): Promise<FeedPage> {
  const { appId, since, limit, form } = input
  const { newest, first } = await Revocation.readBounds(deps.db)
  if (since === newest && since >= first) return { rows: [], cursor: newest, hasMore: false, isReset: false }
  const isOfLater = since !== undefined && (await isAhead(deps, since, newest))
  if (isOfLater)
    deps.logger.warn(
      { since },
      'a consumer has a newer cursor than the database: run gatehouse finish-restore if the database was restored',
    )
  const isReset = isOfLater || (since !== undefined && since < first)
  const after = since === undefined || isReset ? 0 : since
  const kept = deps.clock() - revocationKeepMs
  const range = { after, last: newest, since: kept, limit: limit + 1, usersOnly: form === 1 }
  const read = await Revocation.listOfApp(deps.db, appId, range)
  const hasMore = read.length > limit
  const rows = read.slice(0, limit)
  const last = hasMore ? rows.at(-1) : undefined
  return { rows, cursor: last?.cursor ?? Math.max(after, newest, first), hasMore, isReset }
}

/** Whether this database has never given such a cursor. The row with the newest cursor may have been cleaned up. */
async function isAhead(deps: Deps, since: number, newest: number): Promise<boolean> {
  return since > newest && since > (await Revocation.lastCursorGiven(deps.db))
}

/** The next revocations after a cursor, for all users and apps. */
export async function readAllRevocations(deps: Deps, after: number, limit: number): Promise<RevocationRow[]> {
  return Revocation.listAfter(deps.db, after, limit)
}
