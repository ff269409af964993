import { flag, type Input, positional } from '../../command-line/options.ts'
import { parseAppRef } from '../../nouns/app-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = {
  code: positional('CODE', 'Code or id of the app', { completes: 'apps' }),
  force: flag('Even while users have access to it'),
}

export const deleteApp = command({
  path: 'app delete',
  summary: 'Delete an app',
  examples: ['app delete shop --confirm shop', 'app delete shop --confirm shop --force', 'app delete shop --dry-run'],
  options,
  confirms: 'name',
  run: runDeleteApp,
})

export async function runDeleteApp(tools: Tools, { code, force }: Input<typeof options>): Promise<Result> {
  const appId = parseAppRef(code)
  await confirmName(tools, code, `delete the app ${code}`)
  await tools.api.DELETE('/api/v1/admin/apps/{appId}', { params: { path: { appId }, query: force ? { force: 'true' } : {} } })
  return record({ code }, 'deleted')
}
