import type { z } from 'zod'
import { grantStateAt } from '../../lib/grant-state.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { UserApp } from '../../models/user-app.ts'
import type { grantRecord } from './schema.ts'

export type GrantRow = Pick<
  UserApp,
  'user_id' | 'app_id' | 'status' | 'granted_via' | 'granted_by' | 'reason' | 'granted_at' | 'expires_at' | 'revoked_at'
>

/** A grant as it stands at `now`, in milliseconds. */
export function presentGrant(grant: GrantRow, appCode: string, now: number): z.output<typeof grantRecord> {
  return {
    user_id: grant.user_id,
    app_id: grant.app_id,
    app_code: appCode,
    status: grant.status,
    effective: grantStateAt(grant, now),
    granted_via: grant.granted_via,
    granted_by: grant.granted_by,
    reason: grant.reason,
    granted_at: iso(grant.granted_at),
    expires_at: isoOrNull(grant.expires_at),
    revoked_at: isoOrNull(grant.revoked_at),
  }
}
