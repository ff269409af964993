import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { OutboxEntry } from '../../models/outbox-entry.ts'
import { User } from '../../models/user.ts'
import { getApp } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { requeueEntry } from '../outbox/requeue-entry.ts'
import type { Receiver } from './schema.ts'

/**
 * Sends a finished delivery again, under the same id, to where its webhook points now. Returns where that is.
 * Throws `not_found`, `delivery_pending`, `delivery_erased`, `webhook_not_enabled`.
 */
export async function redeliverWebhook(deps: Deps<Pool>, id: string, actor: Actor): Promise<Receiver> {
  return transaction(deps, async (deps) => {
    const entry = await OutboxEntry.findWebhook(deps.db, id)
    if (!entry?.app_id) throw new ApiError('not_found', { detail: 'No delivery of a webhook has this id' })
    const app = await getApp(deps, entry.app_id)
    const webhook = app.webhooks.find(({ name, enabled }) => enabled && name === entry.name)
    if (!webhook) throw new ApiError('webhook_not_enabled', { detail: `${app.code} has no enabled webhook named ${entry.name}` })
    if (entry.user_id !== null && (await User.isErased(deps.db, entry.user_id))) throw new ApiError('delivery_erased')
    if (!(await requeueEntry(deps, id, webhook.url))) throw new ApiError('delivery_pending')
    const details = { delivery: id, webhook: entry.name }
    await recordEvent(deps, { event: 'webhook.redelivered', actor, appId: app.id, userId: entry.user_id, details })
    return { webhook: webhook.name, url: webhook.url }
  })
}
