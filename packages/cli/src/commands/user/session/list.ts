import { count, type Input } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { sessionColumns, sessionsOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list, type Result } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'
import type { Tools } from '../../../tools/create-tools.ts'

const options = { user: userSubject, limit: count('N', 'At most so many; all unless given') }

export const listSessions = command({
  path: 'user session list',
  summary: 'List the sessions of a user that are alive, newest first',
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
