import type { Deps } from '../../deps.ts'
import type { Page } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { User } from '../../models/user.ts'
import { unknownApp } from '../names/unknown-name.ts'
import type { ListAuditRequest } from './schema.ts'

/** Audit events, newest first, by any of the filters together. Throws `not_found` for an app that the log does not know. */
export async function listAuditEvents(deps: Deps, request: ListAuditRequest): Promise<Page<AuditEvent>> {
  const { app_id, user_id, actor_id, event, ip, email } = request
  const appId = app_id === undefined ? undefined : await findAppId(deps, app_id)
  const about = email === undefined ? undefined : { email, userIds: await User.listIdsByEmail(deps.db, [email]) }
  return AuditEvent.listPage(deps.db, { user_id, actor_id, ip, app_id: appId, event, about }, request)
}

/** A deleted app is found by the id that its events keep. */
async function findAppId(deps: Deps, ref: string): Promise<string> {
  const app = await App.findByRef(deps.db, ref)
  if (app) return app.id
  if (isUuid(ref) && (await AuditEvent.isAboutApp(deps.db, ref))) return ref
  throw await unknownApp(deps, ref)
}
