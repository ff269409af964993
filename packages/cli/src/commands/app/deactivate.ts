import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Input, positional } from '../../options.ts'
import type { Result } from '../../output.ts'
import { confirmYes } from '../../prompt.ts'
import { setAppStatus } from './set-status.ts'

const options = { code: positional('CODE', 'Code or id of the app', { completes: 'apps' }) }

export const deactivateApp = command({
  path: 'app deactivate',
  summary: 'Close an app to logins',
  examples: ['app deactivate shop --yes', 'app deactivate shop', 'app deactivate shop --dry-run'],
  options,
  confirms: 'yes',
  run: runDeactivateApp,
})

export async function runDeactivateApp(tools: Tools, { code }: Input<typeof options>): Promise<Result> {
  await confirmYes(tools, `deactivate the app ${code}`)
  return setAppStatus(tools.api, code, 'inactive')
}
