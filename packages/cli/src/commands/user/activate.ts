import { type Input, positional } from '../../command-line/options.ts'
import { setUserStatus } from '../../nouns/set-user-status.ts'
import { userRefSyntax } from '../../nouns/user-ref.ts'
import type { Result } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { user: positional('USER', userRefSyntax) }

export const activateUser = command({
  path: 'user activate',
  summary: 'Open the account of a suspended user again',
  description: 'Old sessions and tokens stay dead.',
  examples: [
    'user activate bob@example.com',
    'user activate bob@example.com@@staff --json',
    'user activate bob@example.com --dry-run',
  ],
  options,
  run: runActivateUser,
})

export async function runActivateUser({ api }: Tools, { user }: Input<typeof options>): Promise<Result> {
  return setUserStatus(api, user, 'active')
}
