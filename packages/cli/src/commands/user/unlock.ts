import { type Input, positional } from '../../command-line/options.ts'
import { findUserId, userRefSyntax } from '../../nouns/user-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { user: positional('USER', userRefSyntax) }

export const unlockUser = command({
  path: 'user unlock',
  summary: 'Lift the lockout of a user',
  description: 'Forgets the failed logins, whether or not they led to a lock.',
  examples: ['user unlock bob@example.com', 'user unlock bob@example.com@@staff --json', 'user unlock bob@example.com --dry-run'],
  options,
  run: runUnlockUser,
})

export async function runUnlockUser({ api }: Tools, { user }: Input<typeof options>): Promise<Result> {
  const userId = await findUserId(api, user)
  await api.POST('/api/v1/admin/users/{userId}/unlock', { params: { path: { userId } } })
  return record({ user_id: userId }, 'unlocked')
}
