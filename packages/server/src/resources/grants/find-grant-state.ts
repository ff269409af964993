import type { Deps } from '../../deps.ts'
import { isTooSoon } from '../../lib/timestamps.ts'
import { type GrantStateRow, UserApp } from '../../models/user-app.ts'

/** What the gate needs to know about a `user_apps` row. `expiresAt` is in milliseconds. */
export interface GrantState {
  /** Whether there is a row at all, active or not. Auto-grant applies only without a row. */
  exists: boolean
  isActive: boolean
  /** Revoked on purpose: this keeps holders of system_admin even out of the built-in app. */
  isRevoked: boolean
  expiresAt: number | null
}

/** The state of a user's grant for an app. */
export async function findGrantState(deps: Deps, userId: string, appId: string): Promise<GrantState> {
  return grantStateOf(deps, await UserApp.findState(deps.db, userId, appId))
}

/** A grant is not active if it has expired, or ends before a token of it could be used. */
export function grantStateOf(deps: Deps, grant: GrantStateRow | undefined): GrantState {
  if (!grant) return { exists: false, isActive: false, isRevoked: false, expiresAt: null }
  return {
    exists: true,
    isActive: grant.status === 'active' && (grant.expires_at === null || !isTooSoon(grant.expires_at, deps.clock())),
    isRevoked: grant.status === 'revoked',
    expiresAt: grant.expires_at,
  }
}
