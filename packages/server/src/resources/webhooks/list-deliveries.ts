import type { Deps } from '../../deps.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { getApp } from '../apps/get-app.ts'
import type { OutboxEntry } from '../outbox/outbox-entry.ts'
import type { Delivery } from './present.ts'

const columns = [
  'id',
  'user_id',
  'name',
  'destination',
  'status',
  'attempts',
  'next_attempt_at',
  'last_status',
  'last_error',
  'created_at',
  'finished_at',
] as const

/** The deliveries of an app's webhooks, newest first. Throws `not_found`. */
export async function listDeliveries(
  deps: Deps,
  appRef: string,
  request: PageRequest & { status?: OutboxEntry['status'] | undefined },
): Promise<Page<Delivery>> {
  const app = await getApp(deps, appRef)
  const query = deps.db<OutboxEntry>('outbox').where({ app_id: app.id, kind: 'webhook' })
  if (request.status !== undefined) query.where({ status: request.status })
  if (request.cursor !== undefined) query.where('id', '<', request.cursor)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(rowsToRead(request))
    .select(...columns)
  return pageOf(rows, request, ({ id }) => id)
}
