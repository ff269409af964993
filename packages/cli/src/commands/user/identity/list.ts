import { count, type Input } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { identitiesOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list, type Result } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'
import type { Tools } from '../../../tools/create-tools.ts'

const options = { user: userSubject, limit: count('N', 'Maximum number of logins. Default: all') }

export const listIdentities = command({
  path: 'user identity list',
  summary: 'List the third-party logins of a user',
  examples: [
    'user identity list bob@example.com',
    'user identity list bob@example.com@@staff -o ndjson',
    'user identity list bob@example.com --json',
  ],
  options,
  run: runListIdentities,
})

export async function runListIdentities({ api }: Tools, { user, limit }: Input<typeof options>): Promise<Result> {
  const identities = identitiesOf(api, await findUserId(api, user), limit)
  return list(identities, ['provider', ['linked_at', ({ created_at }) => created_at], 'id'], 'no identities')
}
