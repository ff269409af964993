import { command } from '../../command.ts'
import type { Tools } from '../../factory.ts'
import { type Input, positional } from '../../options.ts'
import type { Result } from '../../output.ts'
import { userRefSyntax } from '../../user-ref.ts'
import { setUserStatus } from './set-status.ts'

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
