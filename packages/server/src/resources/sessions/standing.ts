import type { Deps } from '../../deps.ts'
import { wordsIn } from '../../lib/words.ts'
import { type StandingRow, User } from '../../models/user.ts'
import { type Access, accessBy } from '../app-access/find-access.ts'

/** What the gate asks about somebody who wants in: read in one statement, on its own or with what the door reads anyway. */
export interface Standing {
  globalRoles: string[]
  access: Access
  /** Of the same moment. */
  catalogGeneration: string
}

export function standingOf(deps: Deps, row: StandingRow): Standing {
  const grant = row.grant_status === null ? undefined : { status: row.grant_status, expires_at: row.grant_expires_at }
  return { globalRoles: wordsIn(row.global_roles), access: accessBy(deps, grant), catalogGeneration: row.catalog_generation }
}

/** The standing of a user with an app, or with none. */
export async function readStanding(
  deps: Deps,
  userId: string,
  appId: string | null,
): Promise<Standing & { hasSecondFactor: boolean }> {
  const row = await User.findStanding(deps.db, userId, appId)
  if (!row) throw new Error(`no user ${userId} to read the standing of`)
  return { ...standingOf(deps, row), hasSecondFactor: Boolean(row.has_factor) }
}
