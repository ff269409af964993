import { bodyOf } from '../../api/api-client.ts'
import { type Input, positional } from '../../command-line/options.ts'
import { findUserId, userRefSyntax } from '../../nouns/user-ref.ts'
import { type Result, record } from '../../output/output.ts'
import { command } from '../../tools/command.ts'
import type { Tools } from '../../tools/create-tools.ts'

const options = { user: positional('USER', userRefSyntax) }

export const showUser = command({
  path: 'user show',
  summary: 'Show a user with pools, apps, roles and organizations',
  examples: [
    'user show bob@example.com',
    'user show bob@example.com@@staff',
    'user show 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --json',
  ],
  options,
  run: runShowUser,
})

export async function runShowUser({ api }: Tools, { user }: Input<typeof options>): Promise<Result> {
  const userId = await findUserId(api, user)
  return record(await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId } } })))
}
