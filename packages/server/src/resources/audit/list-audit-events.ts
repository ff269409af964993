import type { Deps } from '../../deps.ts'
import type { Page } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { User } from '../../models/user.ts'
import type { ListAuditRequest } from './schema.ts'

/** Audit events, newest first, by any of the filters together. */
export async function listAuditEvents(deps: Deps, request: ListAuditRequest): Promise<Page<AuditEvent>> {
  const { app_id, user_id, actor_id, event, ip, email } = request
  const appId = app_id === undefined || isUuid(app_id) ? app_id : await App.findId(deps.db, app_id)
  if (app_id !== undefined && appId === undefined) return { items: [], nextCursor: null }
  const about = email === undefined ? undefined : { email, userIds: await User.listIdsByEmail(deps.db, [email]) }
  return AuditEvent.listPage(deps.db, { user_id, actor_id, ip, app_id: appId, event, about }, request)
}
