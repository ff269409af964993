import type { z } from 'zod'
import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership, userRecord } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { queueEvent } from './queue-event.ts'
import { redactRegistration } from './redact-registration.ts'

export interface UserAnnouncement {
  app: App
  user: z.output<typeof userRecord>
  organization: Membership | null
  /** The body of the registration, parsed but not validated; `{}` for a door without one. */
  received: Record<string, unknown>
}

/**
 * Announces a user who was created through an app to the app's webhooks. The messages are written in the transaction that creates
 * the user, and sent after it commits. Every door that creates users through an app calls this; logins, imports and admins do
 * not.
 */
export async function announceUser(deps: Deps<Tx>, announced: UserAnnouncement, actor: Actor): Promise<void> {
  const { app, user, organization, received } = announced
  const webhooks = app.webhooks.filter((webhook) => webhook.enabled && webhook.events.includes('user.registered'))
  const registration = redactRegistration(received)
  await queueEvent(deps, { app, webhooks }, { user, organization, registration }, actor)
}
