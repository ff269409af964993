import { count } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { passkeysOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { list } from '../../../output/output.ts'
import { command } from '../../../tools/command.ts'

export const listPasskeys = command({
  path: 'user passkey list',
  options: { user: userSubject, limit: count('N', 'Maximum number of passkeys. Default: all') },
  summary: 'List the passkeys of a user',
  examples: [
    'user passkey list bob@example.com',
    'user passkey list bob@example.com@@staff -o ndjson',
    'user passkey list bob@example.com --json',
  ],
  async run({ api }, { user, limit }) {
    const passkeys = passkeysOf(api, await findUserId(api, user), limit)
    return list(
      passkeys,
      ['name', ['host', ({ rp_id }) => rp_id], 'created_at', 'last_used_at', 'backed_up', 'id'],
      'no passkeys',
    )
  },
})
