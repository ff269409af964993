import { type Input, requiredText, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  app: requiredText('CODE', 'App whose webhooks are tried, by code or id', { completes: 'apps' }),
  webhook: text('NAME', 'Only this one; every enabled one unless given'),
}

export const testWebhooks = command({
  path: 'webhook test',
  summary: 'Fire a sample event at an app’s webhooks',
  description: 'It is marked "test": true, and its user is nobody.',
  examples: ['webhook test --app shop', 'webhook test --app shop --webhook crm', 'webhook test --app shop --dry-run'],
  options,
  run: runTestWebhooks,
})

export async function runTestWebhooks({ api, io }: Tools, { app, webhook }: Input<typeof options>): Promise<Result> {
  const path = { appId: parseAppRef(app) }
  const body = webhook === undefined ? {} : { webhook }
  await api.POST('/api/v1/admin/apps/{appId}/webhooks/test', { params: { path }, body })
  io.note(`authctl webhook deliveries --app ${app} shows what came of it`)
  return record({ app, webhook: webhook ?? null }, 'queued')
}
