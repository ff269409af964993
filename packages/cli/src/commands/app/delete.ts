import { parseAppRef } from '../../app-ref.ts'
import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { flag, type Input, positional } from '../../options.ts'
import { type Result, record } from '../../output.ts'
import { confirmName } from '../../prompt.ts'

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
