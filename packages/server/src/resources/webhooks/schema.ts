import { z } from 'zod'
import { appRef, id, moment, name, page, pageQuery, timestamp } from '../../lib/fields.ts'

export { appParams } from '../../lib/fields.ts'

export const deliveryParams = z.object({ deliveryId: id })

const deliveryStatus = z.enum(['pending', 'delivered', 'failed'])

export const listDeliveriesQuery = z.strictObject({ ...pageQuery, status: deliveryStatus.optional() })

export const testWebhooksBody = z
  .strictObject({ webhook: name.optional().meta({ description: 'Name of the one to try; every enabled one unless told' }) })
  .meta({ id: 'TestWebhooks' })
export type TestWebhooksInput = z.output<typeof testWebhooksBody>

export const deliveryRecord = z
  .object({
    id: id.meta({ description: 'The header `webhook-id` and the `id` of the body, on every attempt' }),
    webhook: z.string().meta({ description: 'Its name in the app' }),
    url: z.string().meta({ description: 'Where the last attempt went, or the first one will go' }),
    event: z.literal('user.registered'),
    test: z.boolean().meta({ description: 'Fired by an admin; nobody registered' }),
    status: deliveryStatus,
    attempts: z.int().meta({ description: 'That have ended, since the last redelivery when there was one' }),
    last_status: z.int().nullable().meta({ description: 'HTTP status of the last attempt; null when there was no answer' }),
    last_error: z.string().nullable(),
    created_at: timestamp,
    next_attempt_at: timestamp
      .nullable()
      .meta({ description: 'While an attempt is under way, when another server would take it over; null once finished' }),
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
      .meta({ description: 'How the deliveries ended; `failed` unless told' }),
    since: moment.optional().meta({ description: 'Deliveries created at this moment or later; ISO 8601' }),
    until: moment.optional().meta({ description: 'Deliveries created before this moment; ISO 8601' }),
  })
  .meta({ id: 'RedeliverWebhooks' })
export type RedeliverAllInput = z.output<typeof redeliverAllBody>

export const redelivered = z
  .object({ count: z.int().meta({ description: 'How many deliveries are queued again' }) })
  .meta({ id: 'Redelivered' })

/** Queued. The list of deliveries shows the outcome. */
export const testQueued = z.strictObject({})

const receiver = z.object({ webhook: z.string().meta({ description: 'Its name in the app' }), url: z.string() })
export type Receiver = z.output<typeof receiver>

/** The answer of a dry run instead of sending. */
export const deliveryPlan = z.object({ deliveries: z.array(receiver) }).meta({ id: 'DeliveryPlan' })
