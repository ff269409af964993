import { Failure } from '../../../command-line/exit-codes.ts'
import { requiredText } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { isAbsent } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { record } from '../../../output/output.ts'
import { isUuid } from '../../../text/uuid.ts'
import { command } from '../../../tools/command.ts'

export const endSession = command({
  path: 'user session end',
  options: {
    user: userSubject,
    session: requiredText('ID', 'Id of the session, as user session list and token trace show it'),
  },
  summary: 'End one session of a user',
  description: 'Its tokens stop working at once; other sessions continue. user logout ends all. Repeating it changes nothing.',
  examples: [
    'user session end bob@example.com --session 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'user session end bob@example.com --session 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --reason "token in a log"',
    'user session end bob@example.com --session 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  async run({ api }, { user, session }) {
    if (!isUuid(session)) {
      throw new Failure('invalid', `"${session}" is not the id of a session`, {
        code: 'invalid_session',
        hint: 'authctl user session list USER shows the ids',
      })
    }
    const path = { userId: await findUserId(api, user), sessionId: session }
    const answer = { user_id: path.userId, session_id: session }
    try {
      await api.DELETE('/api/v1/admin/users/{userId}/sessions/{sessionId}', { params: { path } })
      return record(answer, 'ended')
    } catch (error) {
      if (!isAbsent(error)) throw error
    }
    // Either the session has ended, or the user does not exist.
    await api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId: path.userId } } })
    return record(answer, 'unchanged')
  },
})
