import { readAll } from '../../../api/api-client.ts'
import { Failure } from '../../../command-line/exit-codes.ts'
import { requiredText } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { isAbsent, passkeysOf } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { record } from '../../../output/output.ts'
import { confirmYes } from '../../../terminal/prompt.ts'
import { command } from '../../../tools/command.ts'

export const removePasskey = command({
  path: 'user passkey remove',
  options: { user: userSubject, passkey: requiredText('ID', 'Id of the passkey, or its name') },
  summary: 'Remove a passkey of a user, for example of a lost device',
  description:
    'Sessions continue; user logout ends them. A user without a password can set one with a reset mail. Repeating it changes nothing.',
  examples: [
    'user passkey remove bob@example.com --passkey "Work phone" --yes',
    'user passkey remove bob@example.com@@staff --passkey laptop --yes',
    'user passkey remove bob@example.com --passkey 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { user, passkey }) {
    const { api } = tools
    await confirmYes(tools, `remove the passkey ${passkey} of ${user}`)
    const userId = await findUserId(api, user)
    const all = await readAll(passkeysOf(api, userId))
    const [found, ...others] = all.filter(({ id, name }) => id === passkey || name === passkey)
    if (others.length > 0) {
      const candidates = all.map(({ id, name, created_at }) => `${id}  ${name}, added ${created_at}`).join('\n')
      throw new Failure('invalid', `${user} has several passkeys of this name`, {
        code: 'ambiguous_passkey',
        hint: `choose one of these by its id:\n${candidates}`,
      })
    }
    const answer = { user_id: userId, passkey: found?.id ?? passkey, name: found?.name ?? null }
    if (!found) return record(answer, 'unchanged')
    try {
      const path = { userId, passkeyId: found.id }
      await api.DELETE('/api/v1/admin/users/{userId}/passkeys/{passkeyId}', { params: { path } })
    } catch (error) {
      if (!isAbsent(error)) throw error
      return record(answer, 'unchanged')
    }
    return record(answer, 'removed')
  },
})
