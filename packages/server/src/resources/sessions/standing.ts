import type { Deps } from '../../deps.ts'
import { wordsIn } from '../../lib/words.ts'
import { type StandingRow, User } from '../../models/user.ts'
import { type Access, accessBy } from '../app-access/find-access.ts'

/** What the gate asks about somebody who wants in: read in one statement, on its own or with what the door reads anyway. */
export interface Standing {
  globalRoles: string[]
  access: Access
}

export function standingOf(deps: Deps, row: StandingRow): Standing {
  const grant = row.grant_status === null ? undefined : { status: row.grant_status, expires_at: row.grant_expires_at }
  return { globalRoles: wordsIn(row.global_roles), access: accessBy(deps, grant) }
}

/** The standing of a user with an app, or with none. */
export async function readStanding(deps: Deps, userId: string, appId: string | null): Promise<Standing> {
  const row = await User.findStanding(deps.db, userId, appId)
  return standingOf(deps, row ?? { global_roles: null, grant_status: null, grant_expires_at: null })
}
