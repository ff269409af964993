import type { Deps } from '../../deps.ts'
import type { Page } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { DeletedApp } from '../../models/deleted-app.ts'
import { User } from '../../models/user.ts'
import { unknownApp } from '../names/unknown-name.ts'
import type { ListAuditRequest } from './schema.ts'

/** Audit events, newest first, by any of the filters together. Throws `not_found` for an app that the log does not know. */
export async function listAuditEvents(deps: Deps, request: ListAuditRequest): Promise<Page<AuditEvent>> {
  const { app_id, user_id, actor_id, event, ip, email } = request
  const app = app_id === undefined ? undefined : await App.findByRef(deps.db, app_id)
  if (app_id !== undefined && !app && !isUuid(app_id)) throw await unknownApp(deps, app_id)
  const about = email === undefined ? undefined : { email, userIds: await User.listIdsByEmail(deps.db, [email]) }
  const page = await AuditEvent.listPage(deps.db, { user_id, actor_id, ip, app_id: app?.id ?? app_id, event, about }, request)
  // A deleted app is found by the id that its events keep. No index knows it, so it is unknown once everything was looked through.
  const isUnknown = app_id !== undefined && !app && page.items.length === 0 && page.nextCursor === null
  if (isUnknown && request.cursor === undefined && (await DeletedApp.listIds(deps.db, [app_id], 0)).length === 0)
    throw await unknownApp(deps, app_id)
  return page
}
