import { type Input, positional } from '../../command-line/options.ts'
import { findUserId, userRefSyntax } from '../../nouns/user-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { user: positional('USER', userRefSyntax) }

export const logoutUser = command({
  path: 'user logout',
  summary: 'End all sessions of a user, in every app',
  description: 'The user may log in again at once; user suspend prevents it.',
  examples: ['user logout bob@example.com', 'user logout bob@example.com@@staff --json', 'user logout bob@example.com --dry-run'],
  options,
  run: runLogoutUser,
})

export async function runLogoutUser({ api }: Tools, { user }: Input<typeof options>): Promise<Result> {
  const userId = await findUserId(api, user)
  await api.POST('/api/v1/admin/users/{userId}/logout', { params: { path: { userId } } })
  return record({ user_id: userId }, 'logged_out')
}
