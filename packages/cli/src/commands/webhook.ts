import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages } from '../api/api-client.ts'
import { parsePast } from '../command-line/duration.ts'
import { Failure, usageFailure } from '../command-line/exit-codes.ts'
import { choice, flag, optionalPositional, requiredText, text } from '../command-line/options.ts'
import { parseAppRef } from '../nouns/app-ref.ts'
import { list, type Result, record } from '../output/render.ts'
import { askFor } from '../terminal/prompt.ts'
import { isUuid } from '../text/uuid.ts'
import { command } from '../tools/command.ts'
import type { Tools } from '../tools/create-tools.ts'
import { listCommand } from '../tools/list-command.ts'

type App = components['schemas']['App']
type Webhook = App['webhooks'][number] & { app_code: string }

export const listWebhooks = command({
  path: 'webhook list',
  options: { app: text('CODE', 'Only webhooks of this app, by code or id', { completes: 'apps' }) },
  summary: 'List webhooks, of one app or of all',
  examples: ['webhook list', 'webhook list --app shop', 'webhook list --app shop --json'],
  lists: 'whole',
  async run({ api }, { app }) {
    return list(
      webhooksOf(api, app === undefined ? undefined : parseAppRef(app)),
      [['app', (webhook) => webhook.app_code], 'name', 'url', 'events', 'enabled', ['signed', (webhook) => webhook.has_secret]],
      'no webhooks',
    )
  },
})

async function* webhooksOf(api: Api, appId: string | undefined): Pages<Webhook> {
  for await (const apps of appId === undefined ? allApps(api) : oneApp(api, appId)) {
    yield apps.flatMap(({ code, webhooks }) => webhooks.map((webhook) => ({ app_code: code, ...webhook })))
  }
}

function allApps(api: Api): Pages<App> {
  return pages((query) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query } })))
}

async function* oneApp(api: Api, appId: string): Pages<App> {
  yield [await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId } } }))]
}

export const listDeliveries = listCommand({
  path: 'webhook deliveries',
  summary: 'List the deliveries of an app’s webhooks, newest first',
  examples: [
    'webhook deliveries --app shop --limit 20',
    'webhook deliveries --app shop --status failed',
    'webhook deliveries --app shop -o ndjson',
  ],
  filters: {
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    status: choice(['pending', 'delivered', 'failed'], 'Only deliveries with this status'),
  },
  read: (api, { app, status }, page) => {
    const params = { path: { appId: parseAppRef(app) }, query: { status, ...page } }
    return api.GET('/api/v1/admin/apps/{appId}/webhook-deliveries', { params })
  },
  columns: [
    // Needed to redeliver. A narrow terminal drops the first column last.
    ['id', ({ id }) => id, 'needed'],
    'created_at',
    'webhook',
    'status',
    'attempts',
    'last_status',
    ['error', (delivery) => delivery.last_error],
    'test',
  ],
  none: 'no deliveries',
})

export const redeliverWebhook = command({
  path: 'webhook redeliver',
  options: {
    id: optionalPositional('ID', 'One delivery, as webhook deliveries shows it'),
    app: text('CODE', 'Instead of ID: deliveries of this app, by code or id', { completes: 'apps' }),
    failed: flag('With --app: all failed deliveries of enabled webhooks'),
    since: text('TIME', 'With --app: only deliveries first sent since then: 6h, 2026-12-31 or 2026-12-31T18:00:00Z'),
    until: text('TIME', 'With --app: only deliveries first sent before then, in the same form'),
  },
  summary: 'Send a finished delivery again, or all failed ones of an app',
  description:
    'Keeps the webhook-id, and sends to the current URL of the webhook, with three attempts. Leaves out deliveries about erased users. ' +
    'Repeating it queues nothing twice; webhook deliveries shows the result.',
  examples: [
    'webhook redeliver --app shop --failed --since 6h',
    'webhook redeliver 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'webhook redeliver --app shop --failed --since 6h --dry-run',
  ],
  async run(tools, input) {
    const { id, app, failed, since, until } = input
    if (app !== undefined) {
      if (id !== undefined) throw usageFailure('ID and --app contradict each other')
      if (!failed) throw usageFailure('--failed is required with --app', 'what was delivered can only be sent again one by one')
      return redeliverFailed(tools, { app: parseAppRef(app), since, until })
    }
    if (failed || since !== undefined || until !== undefined) throw usageFailure('--app is required')
    return redeliverOne(tools, id ?? (await askFor(tools, 'ID or --app', 'Id of the delivery:')))
  },
})

async function redeliverOne({ api }: Tools, id: string): Promise<Result> {
  if (!isUuid(id)) {
    throw new Failure('invalid', `"${id}" is not the id of a delivery`, {
      code: 'invalid_delivery',
      hint: 'authctl webhook deliveries --app CODE shows the ids',
    })
  }
  await api.POST('/api/v1/admin/webhook-deliveries/{deliveryId}/redeliver', { params: { path: { deliveryId: id } } })
  return record({ id }, 'queued')
}

async function redeliverFailed(
  { api, rehearsalApi, settings, io, now, place }: Tools,
  { app, ...range }: { app: string; since: string | undefined; until: string | undefined },
): Promise<Result> {
  const since = parsePast('--since', range.since, now())
  const until = parsePast('--until', range.until, now())
  const body = { app, status: 'failed' as const, ...(since ? { since } : {}), ...(until ? { until } : {}) }
  const query = settings.dryRun ? { dry_run: true } : {}
  // A rehearsal reports how many there are, which says more than the planned request.
  const through = settings.dryRun ? rehearsalApi : api
  const { count } = await bodyOf(through.POST('/api/v1/admin/webhook-deliveries/redeliver', { params: { query }, body }))
  const told = { app, status: 'failed', since: since ?? null, until: until ?? null, count }
  if (settings.dryRun) {
    io.note(`nothing was changed ${place()} (--dry-run)`)
    return record({ ...told, dry_run: true })
  }
  if (count > 0) io.note(`authctl webhook deliveries --app ${app} shows the result`)
  return record(told, count > 0 ? 'queued' : 'unchanged')
}

export const testWebhooks = command({
  path: 'webhook test',
  options: {
    app: requiredText('CODE', 'Code or id of the app', { completes: 'apps' }),
    webhook: text('NAME', 'Only this webhook. Default: every enabled one'),
  },
  summary: 'Send a sample event to an app’s webhooks',
  description: 'The event is marked "test": true, and its user does not exist.',
  examples: ['webhook test --app shop', 'webhook test --app shop --webhook crm', 'webhook test --app shop --dry-run'],
  async run({ api, io }, { app, webhook }) {
    const path = { appId: parseAppRef(app) }
    const body = webhook === undefined ? {} : { webhook }
    await api.POST('/api/v1/admin/apps/{appId}/webhooks/test', { params: { path }, body })
    io.note(`authctl webhook deliveries --app ${app} shows the result`)
    return record({ app, webhook: webhook ?? null }, 'queued')
  },
})
