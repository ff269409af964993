import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { iso } from '../../lib/timestamps.ts'
import type { App } from '../../models/app.ts'
import { getKeptApp } from '../apps/get-app.ts'
import { recordEvent } from '../audit/record-event.ts'
import { queueEvent, type UserRegistered } from './queue-event.ts'
import type { Receiver, TestWebhooksInput } from './schema.ts'

/** No user has this id, and no mail server this domain. */
const nobody = { id: '00000000-0000-0000-0000-000000000000', email: 'test@example.invalid' }

/**
 * Fires a sample event, marked `test: true`, at one webhook of an app or at each enabled one, through the same outbox. Returns
 * the webhooks. Throws `not_found`, `validation_failed` for a name that no webhook has, `webhook_not_enabled`.
 */
export async function testWebhooks(
  deps: Deps<Pool>,
  appRef: string,
  { webhook: name }: TestWebhooksInput,
  actor: Actor,
): Promise<Receiver[]> {
  return transaction(deps, async (deps) => {
    const app = await getKeptApp(deps, appRef)
    const named = app.webhooks.filter((webhook) => name === undefined || webhook.name === name)
    if (name !== undefined && named.length === 0) throw fieldError('webhook', 'invalid_value', 'unknown webhook')
    const webhooks = named.filter(({ enabled }) => enabled)
    if (webhooks.length === 0) throw new ApiError('webhook_not_enabled')
    await queueEvent(deps, { app, webhooks }, sampleFor(deps, app), actor)
    const details = { webhooks: webhooks.map((webhook) => webhook.name) }
    await recordEvent(deps, { event: 'webhook.tested', actor, appId: app.id, details })
    return webhooks.map(({ name, url }) => ({ webhook: name, url }))
  })
}

function sampleFor(deps: Deps, app: App): UserRegistered {
  const user = {
    ...nobody,
    email_verified: false,
    first_name: 'Test',
    last_name: 'User',
    namespace: app.registration_namespace,
    namespaces: [app.registration_namespace],
    status: 'active' as const,
    created_at: iso(deps.clock()),
  }
  return { test: true, user, organization: null, registration: { email: nobody.email, app_code: app.code } }
}
