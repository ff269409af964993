import type { Deps } from '../../deps.ts'
import { type GrantState, UserApp } from '../../models/user-app.ts'

/** What the gate asks of a `user_apps` row. `expiresAt` in milliseconds. */
export interface Access {
  /** Whether there is a row at all: auto-grant starts from no row only. */
  exists: boolean
  isActive: boolean
  expiresAt: number | null
}

/** A user's access to an app as it is now. */
export async function findAccess(deps: Deps, userId: string, appId: string): Promise<Access> {
  return accessBy(deps, await UserApp.findState(deps.db, userId, appId))
}

/** An expired grant is not active. */
export function accessBy(deps: Deps, grant: GrantState | undefined): Access {
  if (!grant) return { exists: false, isActive: false, expiresAt: null }
  return {
    exists: true,
    isActive: grant.status === 'active' && (grant.expires_at === null || grant.expires_at > deps.clock()),
    expiresAt: grant.expires_at,
  }
}
