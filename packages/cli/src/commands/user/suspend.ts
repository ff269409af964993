import { type Input, positional } from '../../command-line/options.ts'
import { setUserStatus } from '../../nouns/set-user-status.ts'
import { userRefSyntax } from '../../nouns/user-ref.ts'
import type { Result } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { user: positional('USER', userRefSyntax) }

export const suspendUser = command({
  path: 'user suspend',
  summary: 'Close the account of a user',
  description: 'Ends all sessions and kills all tokens. Doing it twice changes nothing.',
  examples: [
    'user suspend bob@example.com --yes',
    'user suspend bob@example.com@@staff',
    'user suspend bob@example.com --dry-run',
  ],
  options,
  confirms: 'yes',
  run: runSuspendUser,
})

export async function runSuspendUser(tools: Tools, { user }: Input<typeof options>): Promise<Result> {
  await confirmYes(tools, `suspend ${user}`)
  return setUserStatus(tools.api, user, 'suspended')
}
