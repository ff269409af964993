import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { OutboxMessage } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { getApp } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { requeueMessage } from '../outbox/requeue-message.ts'
import { webhookOf } from './find-webhook.ts'
import type { Receiver } from './schema.ts'

/**
 * Sends a finished delivery again, under the same id, to the current URL of its webhook. Returns the webhook and the URL.
 * Throws `not_found`, `delivery_pending`, `delivery_erased`, `webhook_not_enabled`.
 */
export async function redeliverWebhook(deps: Deps<Pool>, id: string, actor: Actor): Promise<Receiver> {
  return transaction(deps, async (deps) => {
    const message = await OutboxMessage.findWebhook(deps.db, id)
    if (!message?.app_id) throw new ApiError('not_found', { detail: 'No webhook delivery has this id' })
    const app = await getApp(deps, message.app_id)
    const webhook = await webhookOf(deps, app.webhooks, message)
    if (!webhook?.enabled)
      throw new ApiError('webhook_not_enabled', { detail: `${app.code} has no enabled webhook named ${message.name}` })
    if (message.user_id !== null && (await User.isErased(deps.db, message.user_id))) throw new ApiError('delivery_erased')
    if (!(await requeueMessage(deps, id, webhook.url))) throw new ApiError('delivery_pending')
    const details = { delivery: id, webhook: message.name }
    await recordEvent(deps, { event: 'webhook.redelivered', actor, appId: app.id, userId: message.user_id, details })
    return { webhook: webhook.name, url: webhook.url }
  })
}
