import type { Deps } from '../../deps.ts'

/** What the gate asks of a `user_apps` row. `expiresAt` in milliseconds. */
export interface Access {
  /** Whether there is a row at all: auto-grant starts from no row only. */
  exists: boolean
  isActive: boolean
  expiresAt: number | null
}

/** A user's access to an app as it is now; an expired grant is not active. */
export async function findAccess(deps: Deps, userId: string, appId: string): Promise<Access> {
  const row = await deps.db('user_apps').where({ user_id: userId, app_id: appId }).first('status', 'expires_at')
  if (!row) return { exists: false, isActive: false, expiresAt: null }
  return {
    exists: true,
    isActive: row.status === 'active' && (row.expires_at === null || row.expires_at > deps.clock()),
    expiresAt: row.expires_at,
  }
}
