import type { Deps } from '../../deps.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { type DeliveryRow, OutboxMessage, type OutboxRow } from '../../models/outbox-message.ts'
import { getApp } from '../apps/get-app.ts'

/** The deliveries of an app's webhooks, newest first. Throws `not_found`. */
export async function listDeliveries(
  deps: Deps,
  appRef: string,
  request: PageRequest & { status?: OutboxRow['status'] | undefined },
): Promise<Page<DeliveryRow>> {
  const app = await getApp(deps, appRef)
  const { status, cursor: before } = request
  const rows = await OutboxMessage.listDeliveries(deps.db, app.id, { status, before, limit: rowsToRead(request) })
  return pageOf(rows, request, ({ id }) => id)
}
