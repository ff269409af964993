import { type Input, positional } from '../../command-line/options.ts'
import { setAppStatus } from '../../nouns/set-app-status.ts'
import type { Result } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

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
