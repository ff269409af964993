import type { Deps } from '../../deps.ts'
import { App } from '../../models/app.ts'
import type { OutboxRow } from '../../models/outbox-message.ts'
import { webhookSecretContext } from '../apps/resolve-app-changes.ts'

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
export async function findWebhook(
  deps: Deps,
  { app_id, name }: Pick<OutboxRow, 'app_id' | 'name'>,
): Promise<Webhook | undefined> {
  if (app_id === null) return undefined
  const app = await App.findWebhooks(deps.db, app_id)
  const webhook = app?.webhooks.find((webhook) => webhook.name === name)
  if (!webhook) return undefined
  const { url, enabled, secret_box } = webhook
  const secret = secret_box === null ? undefined : deps.secretBox.open(secret_box, webhookSecretContext(app_id, name))
  return { url, enabled, secret }
}
