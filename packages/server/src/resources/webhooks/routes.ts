import { ok, okPage, route, section } from '../../http/route.ts'
import {
  countRedeliverable,
  deliveryPage,
  deliveryPlan,
  listDeliveries,
  listDeliveriesQuery,
  presentDelivery,
  redeliverAll,
  redeliverAllBody,
  redelivered,
  redeliverWebhook,
  testQueued,
  testWebhooks,
  testWebhooksBody,
} from './webhooks.ts'

export const webhookRoutes = section('Webhooks', [
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/webhook-deliveries',
    summary: 'List the deliveries of an app’s webhooks, newest first',
    auth: 'admin_reader',
    query: listDeliveriesQuery,
    responses: { 200: deliveryPage },
    handle: async (deps, { params, query }) => okPage(await listDeliveries(deps, params.appId, query), presentDelivery),
  }),
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/webhooks/test',
    summary: 'Send a sample event to an app’s webhooks',
    description:
      'Has the form of `user.registered`, is marked `test: true`, and is about a made-up user. A dry run answers 200 with the ' +
      'receivers.',
    auth: 'system_admin',
    body: testWebhooksBody,
    responses: { 200: deliveryPlan, 202: testQueued },
    errors: ['webhook_not_enabled'],
    handle: async (deps, { params, body, ...actor }) => {
      await testWebhooks(deps, params.appId, body, actor)
      return { status: 202, body: {} }
    },
    plan: async (deps, { params, body, ...actor }) => ok({ deliveries: await testWebhooks(deps, params.appId, body, actor) }),
  }),
  route({
    method: 'POST',
    path: '/admin/webhook-deliveries/{deliveryId}/redeliver',
    summary: 'Send a finished delivery again',
    description:
      'Keeps the `webhook-id`, goes to the current URL of its webhook, and gets three attempts. A dry run answers 200 with the ' +
      'receiver.',
    auth: 'system_admin',
    responses: { 200: deliveryPlan, 202: testQueued },
    errors: ['delivery_erased', 'delivery_pending', 'webhook_not_enabled'],
    handle: async (deps, { params, ...actor }) => {
      await redeliverWebhook(deps, params.deliveryId, actor)
      return { status: 202, body: {} }
    },
    plan: async (deps, { params, ...actor }) => ok({ deliveries: [await redeliverWebhook(deps, params.deliveryId, actor)] }),
  }),
  route({
    method: 'POST',
    path: '/admin/webhook-deliveries/redeliver',
    summary: 'Send all failed deliveries of an app again',
    description:
      'For a receiver that was down. Queues every finished delivery of the time range again, to the current URL of its ' +
      'webhook, under the same `webhook-id`. Skips webhooks that are disabled or gone, and users who were erased. Repeating ' +
      'the call queues nothing twice.',
    auth: 'system_admin',
    body: redeliverAllBody,
    responses: { 200: redelivered },
    errors: ['not_found'],
    handle: async (deps, { body, ...actor }) => ok({ count: await redeliverAll(deps, body, actor) }),
    plan: async (deps, { body }) => ok({ count: await countRedeliverable(deps, body) }),
  }),
])
