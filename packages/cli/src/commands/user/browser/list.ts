import { count } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { trustedBrowsersOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const listTrustedBrowsers = command({
  path: 'user browser list',
  options: { user: userSubject, limit: count('N', 'Maximum number of browsers. Default: all') },
  summary: 'List the browsers that do not ask a user for the second factor',
  examples: [
    'user browser list bob@example.com',
    'user browser list bob@example.com@@staff --limit 10',
    'user browser list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    const browsers = trustedBrowsersOf(api, await findUserId(api, user), limit)
    return list(browsers, ['ip', 'proven_at', 'expires_at', 'user_agent', 'id'], 'no trusted browsers')
  },
})
