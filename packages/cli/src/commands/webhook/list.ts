import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages } from '../../api/api-client.ts'
import { text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { list } from '../../output/output.ts'
import { command } from '../../tools/command.ts'

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
