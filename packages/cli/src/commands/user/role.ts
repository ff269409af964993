import { type Api, bodyOf } from '../../api/api-client.ts'
import { Failure } from '../../command-line/exit-codes.ts'
import { flag, requiredText } from '../../command-line/options.ts'
import { confirmUnproven } from '../../nouns/confirm-unproven.ts'
import { parsePlainName } from '../../nouns/plain-name.ts'
import { userSubject } from '../../nouns/user-commands.ts'
import { findUserId } from '../../nouns/user-ref.ts'
import { record } from '../../output/output.ts'
import { confirmYes } from '../../terminal/prompt.ts'
import { command } from '../../tools/command.ts'

export const setUserRole = command({
  path: 'user role',
  options: {
    user: userSubject,
    role: requiredText('ROLE', 'A global role; org member sets the roles of organizations', { completes: 'roles' }),
    remove: flag('Remove the role; needs --yes'),
  },
  summary: 'Give a user a global role, or remove it',
  description:
    'Tokens show the change from their next refresh on. A former system_admin loses the admin API at once. ' +
    'Repeating it changes nothing.',
  examples: [
    'user role bob@example.com --role support',
    'user role bob@example.com --role support --remove --yes',
    'user role bob@example.com@@staff --role system_admin --json',
  ],
  async run(tools, { user, role, remove }) {
    const { api } = tools
    const role_code = parsePlainName(role, 'role')
    if (remove) await confirmYes(tools, `remove the role ${role} from ${user}`)
    const userId = await findUserId(api, user)
    const answer = { user_id: userId, role: role_code }
    if (remove) return record(answer, await takeAway(api, userId, role_code))
    await confirmUnproven(tools, userId)
    const body = { role_code }
    const { response } = await api.POST('/api/v1/admin/users/{userId}/roles', { params: { path: { userId } }, body })
    return record(answer, response.status === 201 ? 'added' : 'unchanged')
  },
})

async function takeAway(api: Api, userId: string, roleCode: string): Promise<'removed' | 'unchanged'> {
  try {
    await api.DELETE('/api/v1/admin/users/{userId}/roles/{roleCode}', { params: { path: { userId, roleCode } } })
    return 'removed'
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'not_found') throw error
  }
  // Either the user does not hold the role, or the user or the role does not exist.
  await bodyOf(api.GET('/api/v1/admin/users/{userId}', { params: { path: { userId } } }))
  await bodyOf(api.GET('/api/v1/admin/roles/{roleCode}', { params: { path: { roleCode } } }))
  return 'unchanged'
}
