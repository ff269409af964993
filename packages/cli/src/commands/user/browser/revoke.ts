import { Failure } from '../../../command-line/exit-codes.ts'
import { requiredText } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { isAbsent } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { record } from '../../../output/output.ts'
import { isUuid } from '../../../text/uuid.ts'
import { command } from '../../../tools/command.ts'

export const revokeTrustedBrowser = command({
  path: 'user browser revoke',
  options: { user: userSubject, browser: requiredText('ID', 'Id of the browser, as user browser list shows it') },
  summary: 'Ask a user for the second factor in a browser again',
  description: 'Sessions continue; user logout ends them, and the trust of every browser too. Repeating it changes nothing.',
  examples: [
    'user browser revoke bob@example.com --browser 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'user browser revoke bob@example.com --browser 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "lost laptop"',
    'user browser revoke bob@example.com --browser 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api }, { user, browser }) {
    if (!isUuid(browser)) {
      throw new Failure('invalid', `"${browser}" is not the id of a browser`, {
        code: 'invalid_browser',
        hint: 'authctl user browser list USER shows the ids',
      })
    }
    const path = { userId: await findUserId(api, user), browserId: browser }
    const answer = { user_id: path.userId, browser_id: browser }
    try {
      await api.DELETE('/api/v1/admin/users/{userId}/trusted-browsers/{browserId}', { params: { path } })
      return record(answer, 'revoked')
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
    return record(answer, 'unchanged')
  },
})
