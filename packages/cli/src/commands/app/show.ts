import { bodyOf } from '../../api/api-client.ts'
import { type Input, positional } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { code: positional('CODE', 'Code or id of the app', { completes: 'apps' }) }

export const showApp = command({
  path: 'app show',
  summary: 'Show an app with all its settings',
  examples: ['app show shop', 'app show shop --json', 'app show authctl'],
  options,
  run: runShowApp,
})

export async function runShowApp({ api }: Tools, { code }: Input<typeof options>): Promise<Result> {
  return record(await bodyOf(api.GET('/api/v1/admin/apps/{appId}', { params: { path: { appId: parseAppRef(code) } } })))
}
