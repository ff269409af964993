import { bodyOf, pages } from '../../api/api-client.ts'
import { choice, count, type Input, requiredText } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  app: requiredText('CODE', 'App whose webhooks they are, by code or id', { completes: 'apps' }),
  status: choice(['pending', 'delivered', 'failed'], 'Only those that stand so'),
  limit: count('N', 'At most so many; all unless given'),
}

export const listDeliveries = command({
  path: 'webhook deliveries',
  summary: 'List the deliveries of an app’s webhooks, newest first',
  examples: [
    'webhook deliveries --app shop --limit 20',
    'webhook deliveries --app shop --status failed',
    'webhook deliveries --app shop -o ndjson',
  ],
  options,
  run: runListDeliveries,
})

export async function runListDeliveries({ api }: Tools, { app, status, limit }: Input<typeof options>): Promise<Result> {
  const path = { appId: parseAppRef(app) }
  const filter = status === undefined ? {} : { status }
  const all = pages(
    (page) =>
      bodyOf(api.GET('/api/v1/admin/apps/{appId}/webhook-deliveries', { params: { path, query: { ...filter, ...page } } })),
    limit,
  )
  return list(
    all,
    ['created_at', 'webhook', 'status', 'attempts', 'last_status', ['error', (delivery) => delivery.last_error], 'test', 'id'],
    'no deliveries',
  )
}
