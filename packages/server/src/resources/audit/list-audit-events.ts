import type { Deps } from '../../deps.ts'
import type { Page } from '../../lib/keyset.ts'
import { firstIdAt, isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { withPage } from '../../models/list-query.ts'
import type { ListAuditRequest } from './schema.ts'

/** How far an id may run ahead of its `at`: a process whose clock is set back goes on from the newest id it made. */
const clockSlackMs = 60 * 60 * 1000

/**
 * Audit events, newest first, by any of the filters together. Each filter has an index that ends in the id, so that a page is read
 * off it in order and never sorted; the time range becomes a range of ids, which begin with their millisecond.
 */
export async function listAuditEvents(deps: Deps, request: ListAuditRequest): Promise<Page<AuditEvent>> {
  const { app_id, since, until } = request
  const appId = app_id === undefined || isUuid(app_id) ? app_id : await findAppId(deps, app_id)
  if (app_id !== undefined && appId === undefined) return { items: [], nextCursor: null }
  const filters = Object.entries({ user_id: request.user_id, actor_id: request.actor_id, app_id: appId, event: request.event })
  const query = AuditEvent.query(deps.db)
  let isNarrow = false
  for (const [column, value] of filters) {
    if (value === undefined) continue
    // SQLite keeps no statistics: beside a person it might read all logins ever, so nothing but the person may lead to an index.
    if (isNarrow) query.whereRaw('coalesce(??, ??) = ?', [column, column, value])
    else query.where(column, value)
    isNarrow ||= column === 'user_id' || column === 'actor_id'
  }
  // The ids bound what is read, `at` decides. An id is never behind its `at`, so the lower bound loses nothing.
  if (since !== undefined) query.where('audit_events.id', '>=', firstIdAt(since)).where('at', '>=', since)
  if (until !== undefined) query.where('audit_events.id', '<', firstIdAt(until + clockSlackMs)).where('at', '<', until)
  return withPage(query, request, 'audit_events.id')
}

async function findAppId(deps: Deps, code: string): Promise<string | undefined> {
  return (await App.query(deps.db).findOne({ code }).select('id'))?.id
}
