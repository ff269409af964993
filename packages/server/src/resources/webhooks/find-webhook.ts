import type { Deps } from '../../deps.ts'
import { App, type StoredWebhook } from '../../models/app.ts'
import { OutboxMessage, type OutboxRow } from '../../models/outbox-message.ts'
import { webhookSecretContext } from '../apps/resolve-app-changes.ts'

type Message = Pick<OutboxRow, 'app_id' | 'user_id' | 'name' | 'destination' | 'created_at'>

export interface Webhook {
  url: string
  enabled: boolean
  /** `whsec_…`; signs deliveries. */
  secret: string | undefined
}

/**
 * The current webhook that a message goes to. It may have been changed, disabled or removed since the message was written. Throws
 * if its secret was sealed under a key that is no longer configured.
 */
export async function findWebhook(deps: Deps, message: Message): Promise<Webhook | undefined> {
  const { app_id: appId } = message
  const app = appId === null ? undefined : await App.findWebhooks(deps.db, appId)
  const webhook = app && (await webhookOf(deps, app.webhooks, message))
  if (!webhook) return undefined
  const { name, url, enabled, secret_box } = webhook
  const secret = secret_box === null ? undefined : deps.secretBox.open(secret_box, webhookSecretContext(app.id, name))
  return { url, enabled, secret }
}

/**
 * Which of the webhooks of an app a message is for: the one of its name and URL. If there is none, the URL was changed, and the
 * message is for the only webhook of its name, unless the same event was also sent to that one.
 */
export async function webhookOf(
  deps: Deps,
  webhooks: readonly StoredWebhook[],
  message: Message,
): Promise<StoredWebhook | undefined> {
  const named = webhooks.filter(({ name }) => name === message.name)
  const same = named.find(({ url }) => url === message.destination)
  const [only, ...others] = named
  if (same || !only || others.length > 0) return same
  return (await OutboxMessage.hasTwin(deps.db, message, only.url)) ? undefined : only
}
