import type { z } from 'zod'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership, userRecord } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import type { App, StoredWebhook } from '../../models/app.ts'
import { addToOutbox } from '../outbox/add-to-outbox.ts'

export interface UserRegistered {
  /** Only in a sample that an admin fires to try a webhook. */
  test?: true
  user: z.output<typeof userRecord>
  organization: Membership | null
  registration: Record<string, unknown>
}

/** Writes one `user.registered` per webhook into the outbox. The row, the body and the header `webhook-id` have the same id. */
export async function queueEvent(
  deps: Deps<Tx>,
  { app, webhooks }: { app: App; webhooks: readonly StoredWebhook[] },
  { test, user, organization, registration }: UserRegistered,
  { origin }: Actor,
): Promise<void> {
  const now = deps.clock()
  const messages = webhooks.map(({ name, url }) => {
    const id = newId(now)
    const payload = {
      id,
      event: 'user.registered',
      ...(test && { test }),
      occurred_at: iso(now),
      app: { id: app.id, code: app.code, name: app.name },
      user,
      organization,
      registration,
      context: { ip: origin.ip, user_agent: origin.userAgent, request_id: origin.requestId },
    }
    return {
      id,
      kind: 'webhook' as const,
      app_id: app.id,
      user_id: test ? null : user.id,
      name,
      destination: url,
      payload: JSON.stringify(payload),
    }
  })
  await addToOutbox(deps, messages)
}
