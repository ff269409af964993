import type { z } from 'zod'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { UserApp } from '../../models/user-app.ts'
import type { grantRecord } from './schema.ts'

export type GrantRow = Pick<
  UserApp,
  'user_id' | 'app_id' | 'status' | 'granted_via' | 'reason' | 'granted_at' | 'expires_at' | 'revoked_at'
>

export function presentGrant(grant: GrantRow, appCode: string): z.output<typeof grantRecord> {
  return {
    user_id: grant.user_id,
    app_id: grant.app_id,
    app_code: appCode,
    status: grant.status,
    granted_via: grant.granted_via,
    reason: grant.reason,
    granted_at: iso(grant.granted_at),
    expires_at: isoOrNull(grant.expires_at),
    revoked_at: isoOrNull(grant.revoked_at),
  }
}
