import type { z } from 'zod'
import { grantStateAt } from '../../lib/grant-state.ts'
import type { ownAccessRequest } from '../../lib/records.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import type { FullRequest } from '../../models/access-request.ts'
import type { UserApp } from '../../models/user-app.ts'
import type { accessRequestRecord, grantRecord } from './schema.ts'

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

/** A request as its own user sees it. */
export function presentOwnRequest({ id, status, message, app, created_at }: FullRequest): z.output<typeof ownAccessRequest> {
  return { id, app: { id: app.id, code: app.code }, status, message, created_at: iso(created_at) }
}

/** A request as admins see it. */
export function presentRequest(request: FullRequest): z.output<typeof accessRequestRecord> {
  const { user, reason, decided_by, decided_at } = request
  return {
    ...presentOwnRequest(request),
    user: { id: user.id, email: user.email, namespace: user.namespace },
    reason,
    decided_by,
    decided_at: isoOrNull(decided_at),
  }
}
