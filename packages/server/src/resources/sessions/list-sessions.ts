import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { type Page, type PageRequest, pageOf } from '../../lib/keyset.ts'
import { iso } from '../../lib/timestamps.ts'
import { Session, type SessionRow } from '../../models/session.ts'
import type { sessionRecord } from './schema.ts'

/** The sessions of a user that are alive, newest first. `currentId` is the session of the caller. */
export async function listSessions(
  deps: Deps,
  { userId, currentId }: { userId: string; currentId: string },
  request: PageRequest,
): Promise<Page<z.output<typeof sessionRecord>>> {
  const rows = await Session.listAlive(deps.db, userId, request, deps.clock())
  const { items, nextCursor } = pageOf(rows, request, (row) => row.id)
  return { items: items.map((row) => presentSession(row, currentId)), nextCursor }
}

function presentSession({ app_id, app_code, ...row }: SessionRow, currentId: string): z.output<typeof sessionRecord> {
  return {
    ...row,
    app: app_id !== null && app_code !== null ? { id: app_id, code: app_code } : null,
    created_at: iso(row.created_at),
    last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at),
    current: row.id === currentId,
  }
}
