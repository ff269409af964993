import { readAll } from '../../../api/api-client.ts'
import { Failure } from '../../../command-line/exit-codes.ts'
import { requiredText } from '../../../command-line/options.ts'
import { userSubject } from '../../../nouns/user-commands.ts'
import { identitiesOf, isAbsent } from '../../../nouns/user-records.ts'
import { findUserId } from '../../../nouns/user-ref.ts'
import { record } from '../../../output/output.ts'
import { confirmYes } from '../../../terminal/prompt.ts'
import { command } from '../../../tools/command.ts'

export const unlinkIdentity = command({
  path: 'user identity unlink',
  options: {
    user: userSubject,
    identity: requiredText('ID', 'Id of the identity, or code of its provider'),
  },
  summary: 'Unlink a user from a provider',
  description:
    'Sessions continue; user logout ends them. A user without a password can set one with a reset mail. Repeating it changes nothing.',
  examples: [
    'user identity unlink bob@example.com --identity google --yes',
    'user identity unlink bob@example.com --identity 0197c2f0-4c1e-7d3a-9b5e-2f6a8c0d1e3f',
    'user identity unlink bob@example.com --identity google --dry-run',
  ],
  confirms: 'yes',
  async run(tools, { user, identity }) {
    const { api } = tools
    await confirmYes(tools, `unlink ${user} from ${identity}`)
    const userId = await findUserId(api, user)
    const all = await readAll(identitiesOf(api, userId))
    const [found, ...others] = all.filter(({ id, provider }) => id === identity || provider === identity)
    if (others.length > 0) {
      const candidates = all.map(({ id, provider }) => `${id}  ${provider}`).join('\n')
      throw new Failure('invalid', `${user} has several identities of ${identity}`, {
        code: 'ambiguous_identity',
        hint: `choose one of these by its id:\n${candidates}`,
      })
    }
    const answer = { user_id: userId, identity: found?.id ?? identity, provider: found?.provider ?? null }
    if (!found) return record(answer, 'unchanged')
    try {
      const path = { userId, identityId: found.id }
      await api.DELETE('/api/v1/admin/users/{userId}/identities/{identityId}', { params: { path } })
    } catch (error) {
      if (!isAbsent(error)) throw error
      return record(answer, 'unchanged')
    }
    return record(answer, 'unlinked')
  },
})
