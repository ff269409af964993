import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, type Pages, pages } from '../../api/api-client.ts'
import { type Input, text } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { list, type Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

type App = components['schemas']['App']
type Webhook = App['webhooks'][number] & { app_code: string }

const options = { app: text('CODE', 'Only webhooks of this app, by code or id', { completes: 'apps' }) }

export const listWebhooks = command({
  path: 'webhook list',
  summary: 'List webhooks, of one app or of all',
  examples: ['webhook list', 'webhook list --app shop', 'webhook list --app shop --json'],
  options,
  lists: 'whole',
  run: runListWebhooks,
})

export async function runListWebhooks({ api }: Tools, { app }: Input<typeof options>): Promise<Result> {
  return list(
    webhooksOf(api, app === undefined ? undefined : parseAppRef(app)),
    [['app', (webhook) => webhook.app_code], 'name', 'url', 'events', 'enabled', ['signed', (webhook) => webhook.has_secret]],
    'no webhooks',
  )
}

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
