import { count, type Input } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { sessionColumns, sessionsOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list, type Result } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'
import type { Tools } from '../../../tools/create-tools.ts'

const options = { user: userSubject, limit: count('N', 'Maximum number of sessions. Default: all') }

export const listSessions = command({
  path: 'user session list',
  summary: 'List the active sessions of a user, newest first',
  examples: [
    'user session list bob@example.com',
    'user session list bob@example.com@@staff --limit 10',
    'user session list bob@example.com --json',
  ],
  options,
  run: runListSessions,
})

export async function runListSessions({ api }: Tools, { user, limit }: Input<typeof options>): Promise<Result> {
  return list(sessionsOf(api, await findUserId(api, user), limit), sessionColumns, 'no sessions')
}
