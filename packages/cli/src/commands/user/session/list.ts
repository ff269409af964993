import { count } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { sessionColumns, sessionsOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const listSessions = command({
  path: 'user session list',
  options: { user: userSubject, limit: count('N', 'Maximum number of sessions. Default: all') },
  summary: 'List the active sessions of a user, newest first',
  examples: [
    'user session list bob@example.com',
    'user session list bob@example.com@@staff --limit 10',
    'user session list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    return list(sessionsOf(api, await findUserId(api, user), limit), sessionColumns, 'no sessions')
  },
})
