import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { iso } from '../../lib/timestamps.ts'
import type { sessionRecord } from './schema.ts'

interface SessionRow {
  id: string
  app_id: string | null
  app_code: string | null
  auth_method: string
  ip: string | null
  user_agent: string | null
  created_at: number
  last_used_at: number
  expires_at: number
}

/** The caller's sessions that are alive, newest first. */
export async function listSessions(
  deps: Deps,
  caller: UserCaller,
  request: PageRequest,
): Promise<Page<z.output<typeof sessionRecord>>> {
  const query = deps
    .db('sessions as s')
    .join('users as u', 'u.id', 's.user_id')
    .leftJoin('apps as a', 'a.id', 's.app_id')
    .leftJoin('user_apps as g', (on) => on.on('g.user_id', 's.user_id').andOn('g.app_id', 's.app_id'))
    .where('s.user_id', caller.userId)
    .whereNull('s.ended_at')
    .andWhere('s.expires_at', '>', deps.clock())
    .whereRaw('s.token_version >= u.min_token_version and s.token_version >= coalesce(g.min_token_version, 0)')
    .orderBy('s.id', 'desc')
    .limit(rowsToRead(request))
    .select('s.id', 's.app_id', 'a.code as app_code', 's.auth_method', 's.ip', 's.user_agent')
    .select('s.created_at', 's.last_used_at', 's.expires_at')
  if (request.cursor !== undefined) query.where('s.id', '<', request.cursor)
  const rows: SessionRow[] = await query
  const { items, nextCursor } = pageOf(rows, request, (row) => row.id)
  return { items: items.map((row) => presentSession(row, caller.sessionId)), nextCursor }
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
