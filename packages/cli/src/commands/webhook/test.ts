import { requiredText, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

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
