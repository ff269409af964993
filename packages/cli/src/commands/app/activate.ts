import { type Input, positional } from '../../command-line/options.ts'
import { setAppStatus } from '../../nouns/set-app-status.ts'
import type { Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { code: positional('CODE', 'Code or id of the app', { completes: 'apps' }) }

export const activateApp = command({
  path: 'app activate',
  summary: 'Open an app to logins again',
  examples: ['app activate shop', 'app activate shop --dry-run', 'app activate shop --json'],
  options,
  run: runActivateApp,
})

export async function runActivateApp({ api }: Tools, { code }: Input<typeof options>): Promise<Result> {
  return setAppStatus(api, code, 'active')
}
