import { choice, requiredText } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { listCommand } from '../../tools/list-command.ts'

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
