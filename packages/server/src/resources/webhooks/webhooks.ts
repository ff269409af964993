import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { appRef, id, moment, name, page, pageQuery, timestamp } from '../../lib/fields.ts'
import { type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { type Membership, present, type userRecord } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import { App, type StoredWebhook } from '../../models/app.ts'
import { type DeliveryRow, OutboxMessage, type OutboxRow, type RedeliverySelection } from '../../models/outbox-message.ts'
import { User } from '../../models/user.ts'
import { webhookSecretContext } from '../apps/app-settings.ts'
import { getApp, getKeptApp } from '../apps/apps.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addToOutbox, requeueMessage } from '../outbox/outbox.ts'
import { redactRegistration } from './redact-registration.ts'

const deliveryStatus = z.enum(['pending', 'delivered', 'failed'])

export const listDeliveriesQuery = z.strictObject({ ...pageQuery, status: deliveryStatus.optional() })

export const testWebhooksBody = z
  .strictObject({ webhook: name.optional().meta({ description: 'Name of the webhook to test. Default: every enabled one' }) })
  .meta({ id: 'TestWebhooks' })
type TestWebhooksInput = z.output<typeof testWebhooksBody>

const deliveryRecord = z
  .object({
    id: id.meta({ description: 'The header `webhook-id` and the `id` of the body, on every attempt' }),
    webhook: z.string().meta({ description: 'Name of the webhook in the app' }),
    url: z.string().meta({ description: 'Where the last attempt went, or where the first one will go' }),
    event: z.literal('user.registered'),
    test: z.boolean().meta({ description: 'A test that an admin sent; no user registered' }),
    status: deliveryStatus,
    attempts: z.int().meta({ description: 'Number of finished attempts, since the last redelivery if there was one' }),
    last_status: z.int().nullable().meta({ description: 'HTTP status of the last attempt. Null if there was no answer' }),
    last_error: z.string().nullable(),
    created_at: timestamp,
    next_attempt_at: timestamp
      .nullable()
      .meta({ description: 'During an attempt, the time when another server would take it over. Null once finished' }),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' })

export const deliveryPage = page(deliveryRecord)

export const redeliverAllBody = z
  .strictObject({
    app: appRef.meta({ description: 'UUID or code of the app' }),
    status: z
      .enum(['failed', 'delivered'])
      .default('failed')
      .meta({ description: 'How the deliveries ended. Default: `failed`' }),
    since: moment.optional().meta({ description: 'Deliveries created at or after this time; ISO 8601' }),
    until: moment.optional().meta({ description: 'Deliveries created before this time; ISO 8601' }),
  })
  .meta({ id: 'RedeliverWebhooks' })
type RedeliverAllInput = z.output<typeof redeliverAllBody>

export const redelivered = z
  .object({ count: z.int().meta({ description: 'How many deliveries are queued again' }) })
  .meta({ id: 'Redelivered' })

/** Queued. The list of deliveries shows the outcome. */
export const testQueued = z.strictObject({})

const receiver = z.object({ webhook: z.string().meta({ description: 'Name of the webhook in the app' }), url: z.string() })
export type Receiver = z.output<typeof receiver>

/** The answer of a dry run instead of sending. */
export const deliveryPlan = z.object({ deliveries: z.array(receiver) }).meta({ id: 'DeliveryPlan' })

interface UserAnnouncement {
  app: App
  user: z.output<typeof userRecord>
  organization: Membership | null
  /** The body of the registration, parsed but not validated; `{}` for a call without one. */
  received: Record<string, unknown>
}

/**
 * Announces a user who was created through an app to the app's webhooks. The messages are written in the transaction that creates
 * the user, and sent after it commits. Every flow that creates users through an app calls this; logins, imports and admins do
 * not.
 */
export async function announceUser(deps: Deps<Tx>, announced: UserAnnouncement, actor: Actor): Promise<void> {
  const { app, user, organization, received } = announced
  const webhooks = app.webhooks.filter((webhook) => webhook.enabled && webhook.events.includes('user.registered'))
  const registration = redactRegistration(received)
  await queueEvent(deps, { app, webhooks }, { user, organization, registration }, actor)
}

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
  const app = appId === null ? undefined : await App.find(deps.db, { id: appId }).select('id', 'webhooks')
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
  const { app_id, user_id, name, created_at } = message
  // The event was also sent to the other one.
  const twin = { kind: 'webhook', app_id, user_id, name, created_at, destination: only.url } as const
  return (await OutboxMessage.find(deps.db, twin).select('id')) ? undefined : only
}

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

/** A delivery as admins see one: its result, without its payload. */
export function presentDelivery(row: DeliveryRow): z.output<typeof deliveryRecord> {
  return present(deliveryRecord, {
    ...row,
    webhook: row.name,
    url: row.destination,
    event: 'user.registered',
    test: row.user_id === null,
    next_attempt_at: row.status === 'pending' ? row.next_attempt_at : null,
  })
}

export interface UserRegistered {
  /** Only in a sample that an admin fires to try a webhook. */
  test?: true
  user: z.output<typeof userRecord>
  organization: Membership | null
  registration: Record<string, unknown>
}

/** Writes one `user.registered` per webhook into the outbox. The row, the body and the header `webhook-id` have the same id. */
async function queueEvent(
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
      request_id: origin.requestId,
      payload: JSON.stringify(payload),
    }
  })
  await addToOutbox(deps, messages)
}

/** Deliveries that one transaction queues. A receiver that was down for a day has missed very many. */
const portion = 500

type Chosen = Pick<OutboxRow, 'id' | 'name' | 'destination'>

interface Redelivery {
  app: App
  selection: RedeliverySelection
}

/**
 * Sends the deliveries of an app again that were created in a time range and ended with `status`, to the current URLs of their
 * webhooks. Returns how many. Each portion commits with its audit event: if the call is interrupted, repeat it to do the rest.
 * Throws `not_found`.
 */
export async function redeliverAll(deps: Deps<Pool>, input: RedeliverAllInput, actor: Actor): Promise<number> {
  const redelivery = await selectDeliveries(deps, input)
  const { selection } = redelivery
  let count = 0
  let chosen: Chosen[] = []
  do {
    const next = OutboxMessage.redeliverable(deps.db, selection).orderBy('id').limit(portion)
    const last = chosen.at(-1)
    if (last) next.where('id', '>', last.id)
    chosen = await next.select('id', 'name', 'destination')
    if (chosen.length > 0) count += await transaction(deps, (deps) => requeuePortion(deps, redelivery, chosen, actor))
  } while (chosen.length === portion)
  return count
}

/** How many `redeliverAll` would send again. Throws `not_found`. */
export async function countRedeliverable(deps: Deps, input: RedeliverAllInput): Promise<number> {
  const { selection } = await selectDeliveries(deps, input)
  const [counted] = await OutboxMessage.redeliverable(deps.db, selection).count({ n: '*' })
  return Number(counted?.n)
}

async function selectDeliveries(deps: Deps, { app: ref, status, since, until }: RedeliverAllInput): Promise<Redelivery> {
  const app = await getApp(deps, ref)
  const isOnly = (name: string) => app.webhooks.filter((webhook) => webhook.name === name).length === 1
  const enabled = app.webhooks.filter(({ enabled }) => enabled)
  const webhooks = enabled.map(({ name, url }) => ({ name, url, isOnly: isOnly(name) }))
  return { app, selection: { appId: app.id, webhooks, status, since, until } }
}

async function requeuePortion(
  deps: Deps<Tx>,
  { app, selection: { status, webhooks } }: Redelivery,
  chosen: readonly Chosen[],
  actor: Actor,
): Promise<number> {
  let count = 0
  for (const { name, url, isOnly } of webhooks) {
    const isFor = (message: Chosen) => message.name === name && (isOnly || message.destination === url)
    const ids = chosen.filter(isFor).map(({ id }) => id)
    // A concurrent call for the same deliveries finds them pending.
    if (ids.length > 0) count += await OutboxMessage.requeue(deps.db, ids, { status, now: deps.clock(), destination: url })
  }
  if (count === 0) return 0
  await recordEvent(deps, { event: 'webhook.redelivered', actor, appId: app.id, details: { status, count } })
  deps.afterCommit?.push(() => deps.outboxBell.ring('webhook'))
  return count
}

/**
 * Sends a finished delivery again, under the same id, to the current URL of its webhook. Returns the webhook and the URL.
 * Throws `not_found`, `delivery_pending`, `delivery_erased`, `webhook_not_enabled`.
 */
export async function redeliverWebhook(deps: Deps<Pool>, id: string, actor: Actor): Promise<Receiver> {
  return transaction(deps, async (deps) => {
    const found = OutboxMessage.find(deps.db, { id, kind: 'webhook' })
    const message = await found.select('app_id', 'user_id', 'name', 'destination', 'created_at')
    if (!message?.app_id) throw new ApiError('not_found', { detail: 'No webhook delivery has this id' })
    const app = await getApp(deps, message.app_id)
    const webhook = await webhookOf(deps, app.webhooks, message)
    if (!webhook?.enabled)
      throw new ApiError('webhook_not_enabled', { detail: `${app.code} has no enabled webhook named ${message.name}` })
    const user = message.user_id === null ? undefined : await User.query(deps.db).findById(message.user_id).select('email')
    if (user?.email === '') throw new ApiError('delivery_erased')
    if (!(await requeueMessage(deps, id, webhook.url))) throw new ApiError('delivery_pending')
    const details = { delivery: id, webhook: message.name }
    await recordEvent(deps, { event: 'webhook.redelivered', actor, appId: app.id, userId: message.user_id, details })
    return { webhook: webhook.name, url: webhook.url }
  })
}

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
