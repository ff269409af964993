import { bodyOf } from '../../api/api-client.ts'
import { flag } from '../../command-line/options.ts'
import { userSubject } from '../../nouns/user-commands.ts'
import { findUserId } from '../../nouns/user-ref.ts'
import { record } from '../../output/output.ts'
import { confirmName } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const deleteUser = command({
  path: 'user delete',
  options: {
    user: userSubject,
    erase: flag('Also erase e-mail and names everywhere. Works with the id of a user who is already deleted, too'),
  },
  summary: 'Delete a user',
  description:
    'Frees the e-mail, invalidates every token, and removes roles, memberships, pool tags and grants. The id stays. ' +
    'Confirm with the e-mail, even if you give the id.',
  examples: [
    'user delete bob@example.com --confirm bob@example.com',
    'user delete bob@example.com@@staff --confirm bob@example.com --erase',
    'user delete bob@example.com --dry-run',
  ],
  confirms: 'name',
  async run(tools, { user, erase }) {
    const { api } = tools
    const path = { userId: await findUserId(api, user) }
    const { id, email } = await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path } }))
    // An erased user has only an id.
    const name = email || id
    await confirmName(tools, name, `delete the user ${name}`)
    await api.DELETE('/api/v1/admin/users/{userId}', { params: { path, query: erase ? { erase: true } : {} } })
    return record({ user_id: id, erased: erase }, 'deleted')
  },
})
