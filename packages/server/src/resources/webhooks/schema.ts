import { z } from 'zod'
import { appRef, id, moment, name, page, pageQuery, timestamp } from '../../lib/fields.ts'

export { appParams } from '../../lib/fields.ts'

export const deliveryParams = z.object({ deliveryId: id })

const deliveryStatus = z.enum(['pending', 'delivered', 'failed'])

export const listDeliveriesQuery = z.strictObject({ ...pageQuery, status: deliveryStatus.optional() })

export const testWebhooksBody = z
  .strictObject({ webhook: name.optional().meta({ description: 'Name of the webhook to test. Default: every enabled one' }) })
  .meta({ id: 'TestWebhooks' })
export type TestWebhooksInput = z.output<typeof testWebhooksBody>

export const deliveryRecord = z
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
export type RedeliverAllInput = z.output<typeof redeliverAllBody>

export const redelivered = z
  .object({ count: z.int().meta({ description: 'How many deliveries are queued again' }) })
  .meta({ id: 'Redelivered' })

/** Queued. The list of deliveries shows the outcome. */
export const testQueued = z.strictObject({})

const receiver = z.object({ webhook: z.string().meta({ description: 'Name of the webhook in the app' }), url: z.string() })
export type Receiver = z.output<typeof receiver>

/** The answer of a dry run instead of sending. */
export const deliveryPlan = z.object({ deliveries: z.array(receiver) }).meta({ id: 'DeliveryPlan' })
