import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'
import { type Access, accessBy } from '../app-access/find-access.ts'
import { globalRolesColumn } from '../users/list-global-roles.ts'
import { wordsIn } from '../users/user-columns.ts'

/** What the gate asks about somebody who wants in: read in one statement, on its own or with what the door reads anyway. */
export interface Standing {
  globalRoles: string[]
  access: Access
}

/** Columns of a statement over `users u` with `user_apps g` joined for the app that is entered. */
export const standingColumns = `g.status as grant_status, g.expires_at as grant_expires_at, ${globalRolesColumn}`

export interface StandingRow {
  global_roles: string | null
  grant_status: string | null
  grant_expires_at: number | null
}

export function standingOf(deps: Deps, row: StandingRow): Standing {
  const grant = row.grant_status === null ? undefined : { status: row.grant_status, expires_at: row.grant_expires_at }
  return { globalRoles: wordsIn(row.global_roles), access: accessBy(deps, grant) }
}

const standingByUser = new Statement<StandingRow>(
  `select ${standingColumns} from users u left join user_apps g on g.user_id = u.id and g.app_id = :appId where u.id = :userId`,
)

/** The standing of a user with an app, or with none. */
export async function readStanding(deps: Deps, userId: string, appId: string | null): Promise<Standing> {
  const row = await standingByUser.first(deps.db, { appId, userId })
  return standingOf(deps, row ?? { global_roles: null, grant_status: null, grant_expires_at: null })
}
