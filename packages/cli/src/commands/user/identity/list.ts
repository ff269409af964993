import { count } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { identitiesOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const listIdentities = command({
  path: 'user identity list',
  options: { user: userSubject, limit: count('N', 'Maximum number of logins. Default: all') },
  summary: 'List the third-party logins of a user',
  examples: [
    'user identity list bob@example.com',
    'user identity list bob@example.com@@staff -o ndjson',
    'user identity list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    const identities = identitiesOf(api, await findUserId(api, user), limit)
    return list(identities, ['provider', ['linked_at', ({ created_at }) => created_at], 'id'], 'no identities')
  },
})
